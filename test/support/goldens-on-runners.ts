import { describe, expect, it } from 'vitest';
import type { KvLayout, KvPool } from '../../src/core/contracts/index.ts';
import { llama } from '../../src/core/graph/llama-graph.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { native } from '../../src/core/runtime/native-runner.ts';
import { stock } from '../../src/core/runtime/stock-runner.ts';
import { greedy } from './greedy.ts';
import { type GenerationCase, generationGoldens, modelDirectory, testPool } from './models.ts';

const RUNTIMES = { native, stock };
type Runtime = keyof typeof RUNTIMES;
const LAYOUTS: readonly KvLayout[] = ['paged', 'contiguous'];

/** One sequence between two others: the stock runner copies a contiguous pool whole at each step. */
const poolFor = (layout: KvLayout): KvPool =>
  layout === 'contiguous' ? { layout, blocks: 3, blockSize: 1024 } : testPool(layout);

/** The largest difference from the reference's 20 likeliest, over the largest logit. */
function logitsError(logits: Float32Array, { ids, values }: GenerationCase['last_logits_top20']): number {
  const differences = ids.map((id, i) => Math.abs(logits[id]! - values[i]!));
  return Math.max(...differences) / Math.max(...values.map(Math.abs));
}

/** Each runner gives the reference's greedy ids over each layout, of both embedded models: so many of them. */
export function testGoldensOnRunners(tokens: (model: string) => number): void {
  describe.each(['storyteller-draft', 'storyteller-12m'])('%s', async (name) => {
    const model = await loadConfigAndWeights(modelDirectory(name));
    const goldens = generationGoldens(name);

    async function expectGoldens(
      runtime: Runtime,
      layout: KvLayout,
      cases: readonly GenerationCase[],
      newTokens: number,
      chunk?: number,
    ): Promise<void> {
      const pool = poolFor(layout);
      const runner = await RUNTIMES[runtime]()(llama()(model, layout), model, pool);
      for (const golden of cases) {
        const options = chunk === undefined ? {} : { chunk };
        const { ids, promptLogits } = await greedy(runner, pool, golden.input_ids, newTokens, options);
        expect(ids, golden.name).toEqual(golden.greedy_ids.slice(0, newTokens));
        expect(logitsError(promptLogits, golden.last_logits_top20), golden.name).toBeLessThan(1e-3);
      }
      await runner.dispose();
    }

    const combinations = (['native', 'stock'] as const).flatMap((runtime) =>
      LAYOUTS.map((layout) => ({ runtime, layout })),
    );
    it.each(combinations)('$runtime, $layout: the reference greedy ids', async ({ runtime, layout }) => {
      await expectGoldens(runtime, layout, goldens, tokens(name));
    });

    // Each pass runs the whole sequence again: short prompts and few tokens, to stay quick.
    it.each(['native', 'stock'] as const)('%s, no cache: the reference greedy ids', async (runtime) => {
      await expectGoldens(runtime, 'none', goldens.slice(0, 4), 12);
    });

    // The longest prompts: 843, 595 and 52 tokens.
    const long = goldens.filter((golden) => golden.input_ids.length > 50).slice(0, 4);
    const chunked = LAYOUTS.flatMap((layout) => [1, 7, 16, 64].map((chunk) => ({ layout, chunk })));
    it.each(chunked)('native, $layout: prompts in chunks of $chunk', async ({ layout, chunk }) => {
      await expectGoldens('native', layout, chunk === 1 ? long.slice(0, 1) : long, 4, chunk);
    });
  });
}
