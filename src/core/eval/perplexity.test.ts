import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { modelDirectory } from '../../../test/support/models.ts';
import { llama } from '../graph/llama-graph.ts';
import { loadModel } from '../model/load-model.ts';
import { native } from '../runtime/native-runner.ts';
import { divergence, klDivergence } from './divergence.ts';
import { perplexity } from './perplexity.ts';
import { windowPool } from './window-logits.ts';

const read = (file: string) => readFileSync(new URL(`../../../models/${file}`, import.meta.url), 'utf8');

it.each([512, 1024] as const)('equals the reference over the whole text, windows of %i', async (window) => {
  const golden = JSON.parse(read('goldens/perplexity.json')).models['storyteller-draft'];
  const model = await loadModel(modelDirectory('storyteller-draft'));
  const ids = model.tokenizer.encode(read('eval/stories-eval.txt'), { addSpecialTokens: false });
  const pool = windowPool(window);
  const runner = await native()(llama()(model, pool.layout), model, pool);
  const found = await perplexity(runner, ids, window);
  await runner.dispose();
  expect(found.tokens).toBe(golden.tokens);
  expect(found.scoredTokens).toBe(golden[window].scored_tokens);
  expect(Math.abs(found.perplexity / golden[window].perplexity - 1)).toBeLessThan(1e-4);
});

it('a model does not diverge from itself', async () => {
  const model = await loadModel(modelDirectory('storyteller-draft'));
  const pool = windowPool(200);
  const [a, b] = [
    await native()(llama()(model, pool.layout), model, pool),
    await native()(llama()(model, pool.layout), model, pool),
  ];
  const ids = model.tokenizer.encode(read('eval/stories-eval.txt').slice(0, 2000));
  const { perplexity: expected } = await perplexity(a, ids, 200);
  expect(await divergence(a, b, ids, 200)).toEqual({ meanKl: 0, perplexity: expected });
  await Promise.all([a.dispose(), b.dispose()]);
});

it('KL divergence of two rows', () => {
  const p = Float32Array.of(0, 0);
  const q = Float32Array.of(Math.log(3), 0);
  // ½ ln(½ / ¾) + ½ ln(½ / ¼)
  expect(klDivergence(p, q)).toBeCloseTo(0.5 * Math.log(2 / 3) + 0.5 * Math.log(2), 6);
});
