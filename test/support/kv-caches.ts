import type { KvAllocator, Sequence, TokenId } from '../../src/core/contracts/index.ts';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { type PrefixCachedOptions, prefixCached } from '../../src/core/memory/prefix-cached.ts';
import { fakeModel, fakeOptions, fakeSequence } from './fakes.ts';

/** 512 bytes a token: a block of 16 takes 8 KiB. */
export const kvModel = fakeModel({ layers: 2, kvHeads: 2, headDim: 16 });

export const createPaged = (blocks: number, blockSize = 4) =>
  pagedBlocks({ blocks, blockSize })(kvModel, fakeOptions({ maxModelLen: 64 }));

export const createPrefixCached = (blocks: number, more: PrefixCachedOptions = {}) =>
  prefixCached({ blocks, blockSize: 4, ...more })(kvModel, fakeOptions({ maxModelLen: 64 }));

export const sequenceOf = (id: string, tokens: readonly TokenId[], cacheSalt?: string) =>
  fakeSequence(id, { tokens: [...tokens], request: { prompt: tokens, ...(cacheSalt && { cacheSalt }) } });

/** Reserves for all that is not computed, and settles: computed, published. What it found, and its blocks. */
export function computeAll(
  kv: KvAllocator,
  sequence: Sequence,
): { cached: number; blocks: readonly number[] } | undefined {
  const known = sequence.computed || kv.cachedTokens(sequence);
  const newTokens = sequence.tokens.length - known;
  const reservation = kv.reserve(sequence, newTokens);
  if (reservation === undefined) return undefined;
  sequence.computed += newTokens;
  kv.publish(sequence);
  kv.checkInvariants();
  return { cached: sequence.cached, blocks: reservation.blocks };
}

export const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
