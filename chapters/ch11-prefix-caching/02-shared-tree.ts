/** Prompts that begin alike share blocks, and those make a tree. Printed with real block ids, and drawn. */
import { writeFileSync } from 'node:fs';
import { loadModel, pagedBlocks, prefixCached, type TokenId } from 'rxllm';
import { allocatorOf, runOnce, sequenceOf } from '../support/allocator.ts';
import { args } from '../support/args.ts';
import { prefixTree, treePicture, treeText } from '../support/prefix-tree.ts';

const BLOCK = 4;
const prompts = {
  A: 'Tell me a story about a fox who found a red kite.',
  B: 'Tell me a story about a fox who found a warm scarf.',
  C: 'Tell me a story about a fox and a wise owl in the snow.',
  D: 'Tell me a story about a bear and a bee.',
  E: 'The old clock on the wall stopped.',
};

const model = await loadModel(args.model);
const { tokenizer } = model;
const words = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);

/** All of them in memory at once, each after the one before it. */
function admit(slot: typeof pagedBlocks) {
  const kv = allocatorOf(slot({ blockSize: BLOCK, blocks: 64 }), model);
  const sequences = Object.entries(prompts).map(([id, prompt]) => sequenceOf(id, tokenizer.encode(prompt)));
  for (const sequence of sequences) runOnce(kv, sequence);
  kv.checkInvariants();
  return { kv, sequences };
}

const { kv, sequences } = admit(prefixCached);
console.log(`Five prompts, blocks of ${BLOCK} tokens:\n`);
for (const { id, blocks, cached, tokens } of sequences) {
  console.log(`  ${id}  ${cached} of ${tokens.length} tokens found  blocks ${blocks.join(' ')}`);
}
const tree = prefixTree(sequences, BLOCK);
console.log(`\nThe same blocks as a tree:\n\n${treeText(tree, words)}\n`);
const { queries, hits } = kv.prefixCache;
console.log(
  `${hits} of ${queries} tokens found; ${kv.used} blocks in use, ${admit(pagedBlocks).kv.used} without sharing`,
);

if (!args.quick) {
  const svg = treePicture('Five prompts, and the blocks they share', tree, words);
  writeFileSync(new URL('shared-tree.svg', import.meta.url), svg);
  console.log('\nwritten: shared-tree.svg');
}
