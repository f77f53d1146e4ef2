/** Tokens per second as more requests share a step. All are equally long, so that no row is ever lost. */
import { createEngine, loadModel, staticBatch } from 'rxllm';
import { args, judge, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const TOKENS = size(128, 6);
const rows: (string | number)[][] = [];
const texts = new Set<string>();
for (const batch of [1, 2, 4, 8, 16].slice(0, size(5, 3))) {
  const engine = await createEngine(staticBatch, model, { maxNumSeqs: batch });
  const prompts = Array.from({ length: batch }, () => args.prompt);
  await engine.generateBatch(prompts, 8, { ignoreEos: true });
  const start = performance.now();
  const results = await engine.generateBatch(prompts, TOKENS, { ignoreEos: true });
  const seconds = (performance.now() - start) / 1000;
  await engine.close();
  for (const { text } of results) texts.add(text);
  const tokens = results.reduce((sum, { outputIds }) => sum + outputIds.length, 0);
  rows.push([batch, Number(((1000 * seconds) / TOKENS).toFixed(2)), Number((tokens / seconds).toFixed(0))]);
}
console.log(textTable(['batch', 'ms a step', 'tokens/s'], rows));
console.log(`\n${texts.size === 1 ? 'each of them the same text' : 'DIFFERENT texts'}`);
judge('A step reads all weights once, whoever shares it: it grows slower than the batch does.');
