/** How many sequences fit in 64 MiB: counted by the allocators, then run by the engines of chapters 9 and 10. */
import { contiguousSlots, continuous, createEngine, type KvSlot, loadModel, paged, pagedBlocks } from 'rxllm';
import { args, size } from '../support/args.ts';
import { howManyFit, requestsToFit, runAll } from '../support/how-many-fit.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const options = { kvCacheMemoryMiB: 64, maxModelLen: 2048, maxNumSeqs: 64 };

const row = (name: string, slot: KvSlot) => {
  const { count, empty } = howManyFit(slot, model, options);
  return [name, count, empty, Number((empty / count).toFixed(1))];
};
console.log(`${options.kvCacheMemoryMiB} MiB, at most ${options.maxModelLen} tokens, here 150 to 250:\n`);
console.log(
  textTable(
    ['memory in', 'sequences', 'tokens reserved and empty', 'a sequence'],
    [
      row('regions', contiguousSlots()),
      ...[256, 64, 16, 4, 1].map((blockSize) => row(`blocks of ${blockSize}`, pagedBlocks({ blockSize }))),
    ],
  ),
);

const [count, output] = [size(32, 6), size(64, 3)];
const rows: (string | number)[][] = [];
for (const recipe of [continuous, paged]) {
  const engine = await createEngine(recipe, model, options);
  const { atOnce, steps, tokensPerS } = await runAll(engine, requestsToFit(count, output));
  await engine.close();
  rows.push([recipe.name, atOnce, steps, Math.round(tokensPerS)]);
}
console.log(`\n${count} such requests at once, the last ${output} tokens of each generated:\n`);
console.log(textTable(['engine', 'running at once', 'steps', 'tokens/s'], rows));
