/** A thread a small tile of C, its sums in registers: a number from workgroup memory is used for all of them. */
import { writeFileSync } from 'node:fs';
import { byKernel, gemmProblem, type RegisterTile, registerGemm } from 'rxllm/gpu';
import { args } from '../support/args.ts';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';
import { LOAD_KEY, loadMap, loadPicture, loadText } from '../support/load-map.ts';
import { textTable } from '../support/table.ts';
import { LOADS_HEAD, loadsRow, type Tiles } from '../support/tile-loads.ts';

const N = 4096;
const single = { rows: 1, columns: 1 };
const tilesOf = ({ tileM, tileN, tileK, threadM, threadN }: RegisterTile): Tiles => ({
  workgroup: { rows: tileM, columns: tileN, depth: tileK },
  thread: { rows: threadM, columns: threadN },
});
const tile = (tileM: number, tileN: number, tileK: number, threadM: number, threadN: number): RegisterTile => ({
  tileM,
  tileN,
  tileK,
  threadM,
  threadN,
  prefetch: false,
});

const drawn = loadMap('registers', tilesOf(tile(8, 8, 4, 4, 4)), 16, 12, 12);
console.log(`${loadText(drawn)}\n\n  ${LOAD_KEY}\n`);
const large = [tile(64, 64, 16, 4, 4), tile(64, 64, 16, 8, 8), tile(128, 128, 16, 16, 8)];
const tiled: Tiles = { workgroup: { rows: 32, columns: 32, depth: 32 }, thread: single };
console.log(`C = A · B, all of ${N} × ${N}:\n`);
const nameOf = ({ tileM, tileN, threadM, threadN }: RegisterTile) => `${tileM} × ${tileN} by ${threadM} × ${threadN}`;
console.log(
  textTable(LOADS_HEAD, [
    loadsRow('naive', N, { thread: single }),
    loadsRow('tiled by 32', N, tiled),
    ...large.map((each) => loadsRow(nameOf(each), N, tilesOf(each))),
  ]),
);
const { tileM, tileN, tileK, threadM, threadN } = large.at(-1)!;
console.log(
  `\nThe last has ${threadM * threadN} sums a thread in registers, ${(tileM * tileN) / (threadM * threadN)} threads ` +
    `a workgroup, and ${(4 * tileK * (tileM + tileN)) / 1024} KiB of workgroup memory.\n`,
);

const gpu = await gpuOrEnd();
const shape = onGpu(gpu, { m: 2048, n: 2048, k: 2048 }, { m: 70, n: 53, k: 44 });
const work = { unit: 'FLOP', amount: 2 * shape.m * shape.n * shape.k } as const;
const problem = gemmProblem(shape, 1);
// A CPU would compile the large ones for minutes: every sum is a line of its own.
for (const each of onGpu(gpu, large, [tile(16, 16, 8, 4, 4), tile(32, 16, 8, 8, 4)])) {
  await runAndCheck(gpu, nameOf(each), problem, byKernel(registerGemm({ ...shape, ...each })), { work });
}
gpu.close();

if (!args.quick) {
  const naive = loadMap('naive', { thread: single }, 16, 12, 12);
  const byFour = loadMap('tiled', { workgroup: { rows: 4, columns: 4, depth: 4 }, thread: single }, 16, 12, 13);
  const svg = loadPicture('Who loads what', [naive, byFour, drawn]);
  writeFileSync(new URL('who-loads-what.svg', import.meta.url), svg);
  console.log('\nwritten: who-loads-what.svg');
}
