/** Who is evicted: blocks nobody holds go in least-recently-used order, and of a sequence the leaves before the root. */
import { type BlockId, loadModel, prefixCached } from 'rxllm';
import { allocatorOf, runOnce, sequenceOf } from '../support/allocator.ts';
import { args } from '../support/args.ts';

const BLOCK = 4;
const model = await loadModel(args.model);
const { tokenizer } = model;
const encode = (prompt: string) => tokenizer.encode(prompt);
const prompts = {
  A: encode('Tell me a story about a fox who found a red kite.'),
  B: encode('Tell me a story about a bear and a bee.'),
  C: encode('The old clock on the wall stopped at noon.'),
};
const kv = allocatorOf(prefixCached({ blockSize: BLOCK, blocks: 14 }), model);
const content = new Map<BlockId, string>();
const found = () =>
  Object.entries(prompts)
    .map(([id, tokens]) => `${id} ${kv.cachedTokens(sequenceOf(id, tokens))}`)
    .join(', ');

function finish(id: string, tokens: readonly number[]): void {
  const sequence = sequenceOf(id, tokens);
  const { blocks } = runOnce(kv, sequence)!;
  blocks.forEach((block, i) => {
    content.set(block, `${id}: ${JSON.stringify(tokenizer.decode(tokens.slice(i * BLOCK, (i + 1) * BLOCK)))}`);
  });
  kv.free(sequence);
  console.log(`  ${id} ran in ${blocks.join(' ')}, ${sequence.cached} tokens found, and gave them back`);
}

console.log(`${kv.total} blocks of ${BLOCK} tokens; A, B and C run one after the other, then A once more:\n`);
for (const id of ['A', 'B', 'C', 'A'] as const) finish(id, prompts[id]);
console.log(`\n  ${kv.used} blocks in use, and still to be found: ${found()} tokens\n`);

console.log('Others come and need a block each. What it held is lost, and what can be found after that:\n');
for (let i = 0; i < kv.total; i++) {
  const { blocks } = runOnce(kv, sequenceOf(`other ${i}`, Array<number>(BLOCK).fill(500 + i)))!;
  const block = blocks[0]!;
  console.log(`  block ${String(block).padEnd(3)} ${(content.get(block) ?? 'nothing').padEnd(26)} ${found()}`);
}
kv.checkInvariants();
console.log(`\nno block is left for one more: ${runOnce(kv, sequenceOf('late', [1])) === undefined}`);
