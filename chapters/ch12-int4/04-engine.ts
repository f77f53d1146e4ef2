/** The swap: the same engine on float32 and on int4, one prompt. */
import { continuous, createEngine, int4, loadModel } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const rows: (string | number)[][] = [];
for (const recipe of [continuous, int4]) {
  const engine = await createEngine(recipe, model);
  await engine.generate(args.prompt, size(16, 2), { ignoreEos: true });
  const { text, metrics } = await engine.generate(args.prompt, size(64, 6), { ignoreEos: true });
  await engine.close();
  console.log(`${recipe.name}: ${args.prompt}${text}\n`);
  rows.push([recipe.name, Number(metrics.ttftMs.toFixed(2)), Number(metrics.tpotMs.toFixed(2))]);
}
console.log(textTable(['engine', 'TTFT ms', 'TPOT ms'], rows));
