/** The swap: one engine on float32, on int4, on int4 with embeddings too, and on int8 by another kernel; one prompt. */
import { continuous, createEngine, int4, loadModel, quantized, swap } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const parts = ['linear', 'head', 'embeddings'] as const;
const everything = swap(int4, { name: 'int4, embeddings too', model: quantized({ bits: 4, groupSize: 32, parts }) });
const rowInt8 = swap(int4, {
  name: 'int8 by rows',
  model: quantized({ bits: 8, groupSize: 'channel', kernel: 'row-int8' }),
});

const model = await loadModel(args.model);
const rows: (string | number)[][] = [];
for (const recipe of [continuous, int4, everything, rowInt8]) {
  const engine = await createEngine(recipe, model);
  // Once for the warm-up, once to count.
  await engine.generate(args.prompt, size(16, 2), { ignoreEos: true });
  const { text, metrics } = await engine.generate(args.prompt, size(64, 6), { ignoreEos: true });
  await engine.close();
  console.log(`${recipe.name}: ${args.prompt}${text}\n`);
  rows.push([recipe.name, Number(metrics.ttftMs.toFixed(2)), Number(metrics.tpotMs.toFixed(2))]);
}
console.log(textTable(['engine', 'TTFT ms', 'TPOT ms'], rows));
