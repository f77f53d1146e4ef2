/** The swap changes no token: chapter 3's engine, the cache on its runtime, and the cache in place. */
import { contiguousSlots, createEngine, kvCache, llama, loadModel, swap, transformer } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const copied = swap(transformer, { name: 'cache, copied', model: llama(), kv: contiguousSlots({ slots: 1 }) });
const model = await loadModel(args.model);

const seen = new Set<string>();
const rows: (string | number)[][] = [];
for (const recipe of [transformer, copied, kvCache]) {
  const engine = await createEngine(recipe, model);
  // Once for the warm-up, once to count.
  await engine.generate(args.prompt, size(16, 2), { ignoreEos: true });
  const { outputIds, metrics } = await engine.generate(args.prompt, size(128, 8), { ignoreEos: true });
  await engine.close();
  seen.add(outputIds.join(' '));
  rows.push([recipe.name, Number(metrics.ttftMs.toFixed(2)), Number(metrics.tpotMs.toFixed(2))]);
}
console.log(textTable(['engine', 'TTFT ms', 'TPOT ms'], rows));
console.log(`\nthe ids are ${seen.size === 1 ? 'the same' : 'DIFFERENT'}`);
