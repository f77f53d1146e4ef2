/** The same requests in the same memory, in regions and in blocks: who gets in, and what lies empty. Also drawn. */
import { writeFileSync } from 'node:fs';
import { contiguousSlots, type KvSlot, loadModel, pagedBlocks, type Sequence } from 'rxllm';
import { allocatorOf, runOnce, sequenceOf } from '../support/allocator.ts';
import { args } from '../support/args.ts';
import { blockMap, blockMapPicture, blockMapText } from '../support/block-map.ts';
import { textTable } from '../support/table.ts';

const BLOCK = 16;
const MAX_MODEL_LEN = 256;
/** Tokens that each request has by now, in the order of arrival. */
const LENGTHS = [100, 30, 170, 60, 45, 120, 20, 75, 90, 50, 35, 140];

const model = await loadModel(args.model);
const options = { kvCacheMemoryMiB: 8, maxModelLen: MAX_MODEL_LEN, blockSize: BLOCK, maxNumSeqs: 100 };

/** Admits in order until one finds no room; then B and D end, and those who wait come in as far as there is room. */
function fill(name: string, slot: KvSlot) {
  const kv = allocatorOf(slot, model, options);
  const sequences = LENGTHS.map((length, i) => sequenceOf(String(i), Array<number>(length).fill(1)));
  const admit = (waiting: readonly Sequence[]) => {
    const blocked = waiting.findIndex((sequence) => runOnce(kv, sequence) === undefined);
    return waiting.slice(blocked < 0 ? waiting.length : blocked);
  };
  const waiting = admit(sequences);
  const atFirst = LENGTHS.length - waiting.length;
  for (const ended of [sequences[1]!, sequences[3]!]) {
    kv.free(ended);
    ended.computed = 0;
  }
  admit(waiting);
  kv.checkInvariants();
  const running = sequences.filter(({ blocks }) => blocks.length > 0);
  const tokens = running.reduce((sum, { computed }) => sum + computed, 0);
  const reserved = running.reduce((sum, { blocks }) => sum + blocks.length * kv.pool.blockSize, 0);
  const row = [name, atFirst, running.length, reserved, tokens, `${Math.round((100 * tokens) / reserved)}%`];
  return { row, sequences, map: blockMap(name, kv, sequences, BLOCK) };
}

const filled = [fill('contiguous', contiguousSlots()), fill('paged', pagedBlocks())];
const memory = `${options.kvCacheMemoryMiB} MiB, 1,024 tokens`;
console.log(`${memory}; ${LENGTHS.length} requests of ${LENGTHS.join(', ')} tokens; at most ${MAX_MODEL_LEN}\n`);
for (const { map } of filled) console.log(`${map.name}, ${BLOCK} tokens a sign\n${blockMapText(map, BLOCK)}\n`);
console.log('  A full  a partly  - reserved, and empty  . free (the first of the paged ones takes padding)\n');
console.log(
  textTable(
    ['memory in', 'at first', 'after two ended', 'tokens reserved', 'tokens held', 'of use'],
    filled.map(({ row }) => row),
  ),
);
const last = filled[1]!.sequences.findLast(({ blocks }) => blocks.length > 0)!;
console.log(`\nblocks need not be neighbours: the last to come in has ${last.blocks.join(', ')}`);

if (!args.quick) {
  const maps = filled.map(({ map }) => map);
  const svg = blockMapPicture(`The same requests in ${memory}`, maps, BLOCK);
  writeFileSync(new URL('block-map.svg', import.meta.url), svg);
  console.log('\nwritten: block-map.svg');
}
