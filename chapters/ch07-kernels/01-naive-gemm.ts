/** A thread an element of C: it loads a row of A and a column of B for itself, and its neighbours load them again. */
import { byKernel, gemmProblem, naiveGemm } from 'rxllm/gpu';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';
import { LOAD_KEY, loadMap, loadText } from '../support/load-map.ts';
import { textTable } from '../support/table.ts';
import { LOADS_HEAD, loadsRow, type Tiles } from '../support/tile-loads.ts';

const N = 4096;
const tiles: Tiles = { thread: { rows: 1, columns: 1 } };

console.log(`${loadText(loadMap('naive', tiles, 12, 8, 5))}\n\n  ${LOAD_KEY}\n`);
console.log(`C = A · B, all of ${N} × ${N}:\n`);
console.log(textTable(LOADS_HEAD, [loadsRow('naive', N, tiles)]));
const loaded = 2 * N ** 3 * Float32Array.BYTES_PER_ELEMENT;
const held = 2 * N ** 2 * Float32Array.BYTES_PER_ELEMENT;
console.log(
  `\n${(loaded / 1e9).toFixed(0)} GB are loaded of matrices that have ${(held / 1e6).toFixed(0)} MB: each number ${loaded / held} times\n`,
);

const gpu = await gpuOrEnd();
const shapes = [
  { m: 1, n: 1, k: 1 },
  { m: 37, n: 53, k: 29 },
  onGpu(gpu, { m: 2048, n: 2048, k: 2048 }, { m: 70, n: 36, k: 44 }),
];
for (const shape of shapes) {
  const { m, n, k } = shape;
  const work = { unit: 'FLOP', amount: 2 * m * n * k } as const;
  await runAndCheck(gpu, `naive, ${m} × ${n} × ${k}`, gemmProblem(shape, 1), byKernel(naiveGemm(shape)), { work });
}
gpu.close();
