/** Flash attention in WGSL: a workgroup walks over tiles of keys, and no score ever leaves it. Causal, with grouped heads. */
import { attentionProblem, byKernel, type FlashTile, flashAttention, flashBytes, naiveAttention } from 'rxllm/gpu';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';
import { textTable } from '../support/table.ts';

const HEADS = { heads: 32, kvHeads: 8, headDim: 64 };
const TILE: FlashTile = { queryTile: 64, keyTile: 32, threadQueries: 4 };
const FLOAT = Float32Array.BYTES_PER_ELEMENT;
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 2 : 0)} MiB`;

const [tokens, queryTile, keyTile] = [48, 8, 4];
console.log(
  `${tokens} tokens, tiles of ${queryTile} queries and ${keyTile} keys; the turn in which a tile is computed:\n`,
);
for (let query0 = 0; query0 < tokens; query0 += queryTile) {
  const turns = Array.from({ length: tokens / keyTile }, (_, turn) =>
    turn * keyTile < query0 + queryTile ? String(turn + 1).padStart(3) : '  ·',
  );
  console.log(`  workgroup ${query0 / queryTile}${turns.join('')}`);
}

/** K and V read for all query heads: by each query tile, as far as it sees. */
const keysRead = (n: number, tile: number) =>
  Array.from({ length: n / tile }, (_, i) => (i + 1) * tile).reduce((sum, keys) => sum + keys, 0);
const { heads, headDim } = HEADS;
const rows = [256, 1024, 4096, 16_384].map((n) => [
  n,
  mib(2 * heads * n * n * FLOAT),
  '0',
  mib(2 * heads * headDim * FLOAT * keysRead(n, 1)),
  mib(2 * heads * headDim * FLOAT * keysRead(n, TILE.queryTile)),
]);
console.log(`\n${heads} heads of ${headDim}: scores and weights in memory, and keys and values loaded:\n`);
const head = ['tokens', 'naive, n²', 'flash', 'loaded a query alone', `loaded a tile of ${TILE.queryTile}`];
console.log(textTable(head, rows));
console.log(`\na workgroup of flash has ${flashBytes(headDim, TILE) / 1024} KiB of its own, at any length\n`);

const gpu = await gpuOrEnd();
const shapes = onGpu(
  gpu,
  [
    { tokens: 1, heads: 1, kvHeads: 1, headDim: 64 },
    { ...HEADS, tokens: 1000 },
    { ...HEADS, tokens: 2048 },
  ],
  [
    { tokens: 1, heads: 1, kvHeads: 1, headDim: 16 },
    { tokens: 75, heads: 4, kvHeads: 2, headDim: 16 },
  ],
);
const tile = onGpu(gpu, TILE, { queryTile: 16, keyTile: 16, threadQueries: 4 });
for (const shape of shapes) {
  const { tokens, heads, kvHeads, headDim } = shape;
  console.log(`${tokens} tokens, ${heads} query heads on ${kvHeads} of keys, ${headDim} numbers each`);
  const problem = attentionProblem(shape, 1);
  // Two products for each query and the keys up to it.
  const work = { unit: 'FLOP', amount: 2 * tokens * (tokens + 1) * heads * headDim } as const;
  await runAndCheck(gpu, 'naive, three kernels', problem, naiveAttention(shape, 8), { work });
  await runAndCheck(gpu, 'flash', problem, byKernel(flashAttention({ ...shape, ...tile })), { work });
}
gpu.close();
