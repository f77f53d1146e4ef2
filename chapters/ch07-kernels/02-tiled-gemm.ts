/** A workgroup a tile of C: what its threads need in common is loaded once, into memory that they share. */
import { byKernel, gemmProblem, tiledGemm } from 'rxllm/gpu';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';
import { LOAD_KEY, loadMap, loadText } from '../support/load-map.ts';
import { textTable } from '../support/table.ts';
import { LOADS_HEAD, loadsRow, type Tiles } from '../support/tile-loads.ts';

const N = 4096;
const thread = { rows: 1, columns: 1 };
const tiledBy = (tile: number): Tiles => ({ workgroup: { rows: tile, columns: tile, depth: tile }, thread });

console.log(`${loadText(loadMap('tiled', tiledBy(4), 12, 12, 5))}\n\n  ${LOAD_KEY}\n`);
console.log(`C = A · B, all of ${N} × ${N}:\n`);
console.log(
  textTable(LOADS_HEAD, [
    loadsRow('naive', N, { thread }),
    ...[8, 16, 32].map((tile) => loadsRow(`tiled by ${tile}`, N, tiledBy(tile))),
  ]),
);
console.log(
  '\nLoads from memory fall with the tile. Those from workgroup memory do not: a thread still reads two for two FLOP.\n',
);

const gpu = await gpuOrEnd();
const shape = onGpu(gpu, { m: 2048, n: 2048, k: 2048 }, { m: 70, n: 53, k: 44 });
const work = { unit: 'FLOP', amount: 2 * shape.m * shape.n * shape.k } as const;
const problem = gemmProblem(shape, 1);
for (const tile of [8, 16]) {
  const bytes = 2 * tile * tile * Float32Array.BYTES_PER_ELEMENT;
  const name = `tiles of ${tile}, ${bytes} bytes`;
  await runAndCheck(gpu, name, problem, byKernel(tiledGemm({ ...shape, tile })), { work });
}
console.log(`\n${shape.m} × ${shape.n} × ${shape.k}: past the edges a tile is filled up with zeros, which add nothing`);
gpu.close();
