import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom } from 'rxjs';
import type { ForwardBatch, ModelRunner } from '../../src/core/contracts/index.ts';
import { type AttentionVariant, llama } from '../../src/core/graph/llama-graph.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { native } from '../../src/core/runtime/native-runner.ts';
import { type Shape, SMOLLM2_135M, writeRandomModel } from './random-model.ts';

/**
 * SmolLM2-135M's layers: 9 query heads on 3 of keys. Four of its 30, since they run one after the other in the same memory
 * and at the same pace, and a sixth of its vocabulary, of which only the last token's logits are computed.
 */
export const SMOLLM_LAYERS: Shape = { ...SMOLLM2_135M, layers: 4, vocab: 8192 };

/** Calls `use` with a folder that holds such a model and is gone afterwards. */
export async function withSmolLmLayers<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'rxllm-prefill-'));
  try {
    await writeRandomModel(directory, SMOLLM_LAYERS);
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

export interface Prefill {
  readonly runner: ModelRunner;
  /** So many of the prompt's tokens from one on, the last one's logits wanted. */
  batch(from: number, count: number): ForwardBatch;
}

/** A runner with room for one prompt. */
export async function startPrefill(
  directory: string,
  attention: AttentionVariant,
  tokens: number,
  arena = true,
): Promise<Prefill> {
  const model = await loadConfigAndWeights(directory);
  const pool = { layout: 'contiguous', blocks: 1, blockSize: tokens } as const;
  const runner = await native({ arena })(llama({ attention })(model, pool.layout), model, pool);
  const prompt = Array.from({ length: tokens }, (_, i) => (i * 37 + 50) % model.config.vocab);
  return {
    runner,
    batch(from, count) {
      const ids = prompt.slice(from, from + count);
      const width = ids.length;
      return { rows: 1, width, ids: [ids], positions: [from], blockTables: [[0]], logitsAt: [width - 1] };
    },
  };
}

/** Milliseconds of a prompt in one chunk: each kind of attention in turn, round after round. */
export async function prefillTimes<Names extends AttentionVariant>(
  directory: string,
  attentions: readonly Names[],
  { tokens, rounds }: { readonly tokens: number; readonly rounds: number },
): Promise<Record<Names, readonly number[]>> {
  const prefills = await Promise.all(attentions.map((attention) => startPrefill(directory, attention, tokens)));
  const times = attentions.map((): number[] => []);
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { runner, batch }] of prefills.entries()) {
      const start = performance.now();
      await firstValueFrom(runner.forward(batch(0, tokens)));
      if (round > 0) times[index]!.push(performance.now() - start);
    }
  }
  await Promise.all(prefills.map(({ runner }) => runner.dispose()));
  return Object.fromEntries(attentions.map((attention, index) => [attention, times[index]!])) as unknown as Record<
    Names,
    readonly number[]
  >;
}
