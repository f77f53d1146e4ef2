/** The hash chain: a block's key is made of its tokens and of the key before it, so it stands for all that precedes it. */
import { type BlockHash, blockHash, loadModel, prefixCached } from 'rxllm';
import { allocatorOf, runOnce, sequenceOf } from '../support/allocator.ts';
import { args } from '../support/args.ts';

const BLOCK = 8;
const model = await loadModel(args.model);
const { tokenizer } = model;
const hex = (key: number) => key.toString(16).padStart(14, '0');

/** The allocator's own hash, which tells what it is asked. */
const spy: BlockHash = (parent, tokens, start, end) => {
  const key = blockHash(parent, tokens, start, end);
  const isSalt = end - start !== BLOCK;
  const words = isSalt ? '(the salt)' : JSON.stringify(tokenizer.decode(tokens.slice(start, end)));
  console.log(`    ${hex(parent)} + ${words.padEnd(44)} → ${hex(key)}`);
  return key;
};

const prompts = [
  [
    'first',
    'Once upon a time, there was a little fox named Ruby. She lived in the forest and loved to sing and dance.',
  ],
  ['another end', 'Once upon a time, there was a little fox named Ruby. She lived in the town and had a hat.'],
  [
    'another beginning',
    'Once upon a day, there was a little fox named Ruby. She lived in the forest and loved to sing and dance.',
  ],
  [
    'another tenant',
    'Once upon a time, there was a little fox named Ruby. She lived in the forest and loved to sing and dance.',
    'b',
  ],
] as const;
const sequences = prompts.map(([name, prompt, salt]) => sequenceOf(name, tokenizer.encode(prompt), salt));

console.log(`Keys of blocks of ${BLOCK} tokens: parent + tokens → key. A partial block at the end has none.\n`);
const kv = allocatorOf(prefixCached({ blockSize: BLOCK, blocks: 64, hash: spy }), model);
for (const sequence of sequences) {
  console.log(`  ${sequence.id}, ${sequence.tokens.length} tokens`);
  const { blocks } = runOnce(kv, sequence)!;
  console.log(`    ${sequence.cached} tokens found; blocks ${blocks.join(' ')}\n`);
}

// A key is only where to look. Here every key is the same, and still nothing is found that was not asked for.
const colliding = allocatorOf(prefixCached({ blockSize: BLOCK, blocks: 64, hash: () => 7 }), model);
const found = sequences.map((sequence) => {
  const copy = sequenceOf(sequence.id, sequence.tokens, sequence.request.cacheSalt);
  runOnce(colliding, copy);
  return `${copy.cached}`;
});
console.log(`With one key for all, they find ${found.join(', ')} tokens: a collision is a miss, never another's text.`);
