/** Block tables and slot mapping with their real ids: what an engine reserves, and what the graph is given for it. */
import { firstValueFrom, forkJoin, lastValueFrom } from 'rxjs';
import {
  createEngine,
  type ForwardBatch,
  forwardInputs,
  llama,
  loadModel,
  native,
  observe,
  paged,
  pagedBlocks,
  swap,
  tableBlocks,
} from 'rxllm';
import { args } from '../support/args.ts';
import { watch } from '../support/watch.ts';

const BLOCK = 4;
const model = await loadModel(args.model);
const prompts = ['One day, a little fox', 'Once upon a time, there was a bear'];

console.log(`Two sequences, blocks of ${BLOCK} tokens; each step's block tables:\n`);
const tables = watch('allocate', ({ index, rows, reservations }) => {
  for (const { sequence, newTokens } of rows) {
    const table = reservations.get(sequence.id)!.blocks.join(' ');
    console.log(
      `  step ${index}  sequence ${sequence.id}  ${sequence.computed} + ${newTokens} tokens  blocks ${table}`,
    );
  }
});
const recipe = swap(paged, { name: 'blocks of 4', kv: pagedBlocks({ blockSize: BLOCK, blocks: 16 }) });
const engine = await createEngine(observe(recipe, tables), model);
const params = { maxTokens: 5, ignoreEos: true };
await lastValueFrom(forkJoin(prompts.map((prompt, id) => engine.stream({ id: String(id), prompt, params }))));
await engine.close();

// One forward pass by hand: two prompts of different length side by side, over scattered blocks.
const ids = prompts.map((prompt) => model.tokenizer.encode(prompt));
const blockTables = [
  [7, 2],
  [5, 11, 3],
];
const width = Math.max(...ids.map(({ length }) => length));
const logitsAt = ids.map(({ length }, row) => row * width + length - 1);
const batch: ForwardBatch = { rows: ids.length, width, ids, positions: [0, 0], blockTables, logitsAt };

const pool = { layout: 'paged', blocks: 16, blockSize: BLOCK } as const;
const { kvHeads } = model.config;
const shape = { rows: batch.rows, width, wanted: logitsAt.length, blocks: tableBlocks(batch, BLOCK) };
const inputs = forwardInputs(shape, model.config, pool, 'in-place');
inputs.fill(batch);
/** int64 as two words, of which the high one is 0. */
const tensor = (name: string) => {
  const { shape, data } = inputs.tensors.find((each) => each.name === name)!;
  return { shape: `[${shape.join(', ')}]`, data: Array.from(data).filter((_, i) => i % 2 === 0) };
};
const [table, slots] = [tensor('block_table'), tensor('slots')];
console.log(`\nA pass over ${ids.map(({ length }) => length).join(' and ')} tokens, as a rectangle [2, ${width}]:\n`);
console.log(`  block_table ${table.shape}, block × ${kvHeads} + head: ${table.data.join(' ')}`);
console.log(`  slots ${slots.shape}, for head 0 as block:offset`);
ids.forEach(({ length }, row) => {
  const named = Array.from({ length: width }, (_, column) => {
    const at = (row * width + column) * kvHeads * 2;
    return `${slots.data[at]! / kvHeads}:${slots.data[at + 1]}`;
  });
  console.log(
    `    row ${row}  ${named.slice(0, length).join(' ')}  padding ${named.slice(length).join(' ') || 'none'}`,
  );
});

const runner = await native()(llama()(model, 'paged'), model, pool);
const largest = async (of: ForwardBatch) => {
  const { data, rows, vocab } = await firstValueFrom(runner.forward(of));
  return Array.from({ length: rows }, (_, row) => {
    const logits = data.subarray(row * vocab, (row + 1) * vocab);
    const most = Math.max(...logits);
    return `${JSON.stringify(model.tokenizer.tokenText(logits.indexOf(most)))} ${most.toFixed(5)}`;
  });
};
const [padded] = await largest(batch);
const [shorter, itsTable] = [ids[0]!, blockTables[0]!];
const single = { rows: 1, width: shorter.length, ids: [shorter], positions: [0], blockTables: [itsTable] };
const [alone] = await largest({ ...single, logitsAt: [shorter.length - 1] });
await runner.dispose();
console.log(`\nrow 0's largest logit: padded ${padded}, alone ${alone}. Padding went to block 0, which is nobody's.`);
