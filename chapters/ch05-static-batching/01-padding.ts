/** Prompts of different lengths as one rectangle: padding, what it costs, and why a causal mask is enough. */
import { firstValueFrom } from 'rxjs';
import { type ForwardBatch, llama, loadModel, native } from 'rxllm';
import { args } from '../support/args.ts';

const model = await loadModel(args.model);
const { tokenizer } = model;
const prompts = ['The fox', 'Once upon a time, there was a little fox named', 'Anna had a secret. She'];
const ids = prompts.map((prompt) => tokenizer.encode(prompt));
const width = Math.max(...ids.map(({ length }) => length));

console.log(`ids [${ids.length}, ${width}], the widest row sets the width:\n`);
for (const row of ids) {
  const cells = Array.from({ length: width }, (_, at) => String(row[at] ?? 'pad').padStart(4));
  console.log(`  ${cells.join(' ')}`);
}
const tokens = ids.reduce((sum, { length }) => sum + length, 0);
const share = 1 - tokens / (ids.length * width);
console.log(`\n${tokens} tokens in ${ids.length * width} places: ${(100 * share).toFixed(0)}% padding`);

console.log(`\nWhat a token of the first row may look at (x), its padding behind it (p):\n`);
for (let query = 0; query < width; query++) {
  const isToken = query < ids[0]!.length;
  const keys = Array.from({ length: width }, (_, key) => (key > query ? '.' : 'x'));
  console.log(`  ${isToken ? 'token' : 'p    '} ${String(query).padStart(2)}  ${keys.join(' ')}`);
}

/** The logits of each row's last token, without any cache. */
async function lastLogits(rows: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const runner = await native()(llama()(model, 'none'), model, { layout: 'none', blocks: 0, blockSize: 0 });
  const widest = Math.max(...rows.map(({ length }) => length));
  const batch: ForwardBatch = {
    rows: rows.length,
    width: widest,
    ids: rows,
    positions: rows.map(() => 0),
    blockTables: rows.map(() => []),
    logitsAt: rows.map(({ length }, row) => row * widest + length - 1),
  };
  const { data, vocab } = await firstValueFrom(runner.forward(batch));
  const logits = rows.map((_, row) => data.slice(row * vocab, (row + 1) * vocab));
  await runner.dispose();
  return logits;
}

const together = await lastLogits(ids);
console.log('\nThe largest difference between logits in the batch and alone:');
for (const [row, prompt] of prompts.entries()) {
  const [alone] = await lastLogits([ids[row]!]);
  const difference = Math.max(...alone!.map((value, i) => Math.abs(value - together[row]![i]!)));
  console.log(`  ${difference.toFixed(6)}  ${JSON.stringify(prompt)}`);
}
