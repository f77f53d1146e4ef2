import type { Observable } from 'rxjs';
import type { ForwardBatch, KvPool, Logits, TokenId } from '../../src/core/contracts/index.ts';
import type { RxllmError } from '../../src/core/errors.ts';
import { type Script, scriptedRunner } from '../../src/core/runtime/scripted-runner.ts';
import { fakeConfig } from './fakes.ts';

export const PAGED: KvPool = { layout: 'paged', blocks: 8, blockSize: 4 };
export const VOCAB = 32;

/** The next token is the sum of all before it, so every token of the history counts. */
export const sum = (history: readonly TokenId[]) => history.reduce((total, id) => total + id, 0) % VOCAB;
export const createScripted = (script: Partial<Script> = {}, pool = PAGED) =>
  scriptedRunner({ next: sum, ...script, config: fakeConfig({ vocab: VOCAB }), pool });

/** One row, logits of its last token. */
export const row = (ids: TokenId[], position: number, blocks: number[]): ForwardBatch => ({
  rows: 1,
  width: ids.length,
  ids: [ids],
  positions: [position],
  blockTables: [blocks],
  logitsAt: [ids.length - 1],
});

export const winners = ({ rows, vocab, data }: Logits): TokenId[] =>
  Array.from({ length: rows }, (_, at) => {
    const logits = data.subarray(at * vocab, (at + 1) * vocab);
    return logits.indexOf(Math.max(...logits));
  });

/** For passes that emit during the call to subscribe. */
export function now(source: Observable<Logits>): TokenId[] {
  let seen: TokenId[] = [];
  source.subscribe({
    next: (logits) => {
      seen = winners(logits);
    },
    error: (error) => {
      throw error;
    },
  });
  return seen;
}

export const failureOf = (source: Observable<Logits>) => {
  let failure: unknown;
  source.subscribe({
    error: (error) => {
      failure = error;
    },
  });
  return failure as RxllmError;
};
