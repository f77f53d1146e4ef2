import { describe, expect, it } from 'vitest';
import type { KvLayout } from '../src/core/contracts/index.ts';
import { type AttentionVariant, llama } from '../src/core/graph/llama-graph.ts';
import { loadConfigAndWeights } from '../src/core/model/load-model.ts';
import { native } from '../src/core/runtime/native-runner.ts';
import { forward, someBlocks } from './support/greedy.ts';
import { fixtureDirectory, modelDirectory, testPool } from './support/models.ts';

/** Two key heads for four query heads; as many key heads as query heads; a head size that no fused rotary takes. */
const MODELS = {
  'storyteller-draft': modelDirectory('storyteller-draft'),
  'llama-mlp-bias': fixtureDirectory('llama-mlp-bias'),
  'llama-untied-bias-headdim': fixtureDirectory('llama-untied-bias-headdim'),
};

/** Around the sizes of the kernels' tiles. */
const LENGTHS = [3, 16, 33, 49, 65, 97, 129];

const range = (end: number, step: number) =>
  Array.from({ length: Math.ceil(end / step) }, (_, i) => Math.min(end, (i + 1) * step));

describe.each(Object.entries(MODELS))('%s', async (_, directory) => {
  const model = await loadConfigAndWeights(directory);
  const tokens = Array.from({ length: 130 }, (_, i) => (i * 7919) % model.config.vocab);

  async function eachLength(
    layout: KvLayout,
    attention: AttentionVariant,
    chunks: (length: number) => readonly (readonly number[])[],
  ) {
    const pool = testPool(layout);
    const runner = await native()(llama({ attention })(model, layout), model, pool);
    for (const length of LENGTHS) {
      const blocks = someBlocks(pool, length + 1);
      const run = async (ends: readonly number[]) => {
        let start = 0;
        let logits = new Float32Array();
        for (const end of ends) {
          const [last] = await forward(runner, [{ blocks, start, ids: tokens.slice(start, end) }]);
          logits = new Float32Array(last!);
          start = end;
        }
        return logits;
      };
      const whole = await run([length]);
      for (const ends of chunks(length)) expect(await run(ends), `${ends} of ${length}`).toEqual(whole);
    }
    await runner.dispose();
  }

  it.each([
    ['paged', 'fused'],
    ['contiguous', 'fused'],
    ['paged', 'flash'],
    ['contiguous', 'flash'],
  ] as const)('%s, %s: a prompt has the same logits however it is cut', async (layout, attention) => {
    await eachLength(layout, attention, (length) => [
      [1, length],
      [length - 2, length],
      range(length - 2, 16).concat(length),
    ]);
  });

  it.each([
    ['paged', 'fused'],
    ['paged', 'flash'],
    ['contiguous', 'flash'],
  ] as const)('%s, %s: so it has token by token', async (layout, attention) => {
    await eachLength(layout, attention, (length) => [[length - 1, length], range(length, 1)]);
  });
});
