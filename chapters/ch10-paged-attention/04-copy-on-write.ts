/** Several answers to one prompt (`n` over HTTP): they share its blocks, and who writes to a shared one copies it first. */
import { createEngine, loadModel, observe, paged, pagedBlocks, swap } from 'rxllm';
import { args, size } from '../support/args.ts';
import { watch } from '../support/watch.ts';

const BLOCK = 4;
const ANSWERS = 4;
const TOKENS = size(16, 6);
const prompt = 'Once upon a time, a fox and a bear went to the old mill';

const model = await loadModel(args.model);
let mostUsed = 0;
const tables = watch('allocate', ({ index, rows, reservations }, { kv }) => {
  mostUsed = Math.max(mostUsed, kv.used);
  if (index > 2) return;
  for (const { sequence, newTokens, kind } of rows) {
    const { blocks, copies = [] } = reservations.get(sequence.id)!;
    const copied = copies.map(({ from, to }) => `  (${from} copied to ${to})`).join('');
    console.log(`  step ${index}  ${sequence.id}  ${kind} of ${newTokens}  blocks ${blocks.join(' ')}${copied}`);
  }
});
const recipe = swap(paged, { name: 'shown', kv: pagedBlocks({ blockSize: BLOCK, blocks: 64 }) });
const engine = await createEngine(observe(recipe, tables), model);

const length = model.tokenizer.encode(prompt).length;
const full = Math.floor(length / BLOCK);
console.log(`A prompt of ${length} tokens: ${full} full blocks of ${BLOCK}, and ${length % BLOCK} in the next one\n`);
const answers = await Promise.all(
  Array.from({ length: ANSWERS }, async (_, i) => {
    const params = { temperature: 0.7, seed: i + 1, maxTokens: TOKENS, ignoreEos: true };
    const request = { id: `answer-${i}`, prompt, params, ...(i > 0 && { forkOf: 'answer-0' }) };
    let text = '';
    await engine.stream(request).forEach((event) => {
      if (event.type === 'token') text += event.text;
    });
    return text;
  }),
);
await engine.close();

console.log('\nand so on, each in blocks of its own:\n');
for (const text of answers) console.log(`  …${text.replaceAll('\n', ' ')}`);
// The last token is only shown: nothing comes after it that would look at its keys.
const alone = Math.ceil((length + TOKENS - 1) / BLOCK);
console.log(`\nat most ${mostUsed} blocks in use; ${ANSWERS} × ${alone} = ${ANSWERS * alone} if nothing were shared`);
