/** Decode attention that reads keys and values through a block table, where the blocks are: nothing is gathered first. */
import {
  type Gpu,
  type PagedShape,
  type Problem,
  pagedDecode,
  pagedProblem,
  partitionsOf,
  type Solution,
} from 'rxllm/gpu';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';

const BLOCK = 16;
const shape: PagedShape = {
  sequences: 3,
  heads: 4,
  kvHeads: 2,
  headDim: 64,
  blockSize: BLOCK,
  tableWidth: 6,
  partition: 48,
};
const lengths = [90, 1, 40];
const problem = pagedProblem(shape, lengths, 1);
const [q, k, v, tables] = problem.inputs as [Float32Array<ArrayBuffer>, ...Float32Array<ArrayBuffer>[]];

console.log(`blocks of ${BLOCK} tokens, [kvHeads, blockSize, headDim] each, as chapter 10's pool has them:\n`);
lengths.forEach((length, sequence) => {
  const used = Math.ceil(length / BLOCK);
  const blocks = [...tables!.subarray(sequence * shape.tableWidth, sequence * shape.tableWidth + used)];
  const last = length - 1;
  console.log(
    `  sequence ${sequence}, ${String(length).padStart(2)} tokens: blocks ${blocks.join(' ')}; ` +
      `its last token is place ${last % BLOCK} of block ${blocks[Math.floor(last / BLOCK)]}`,
  );
});
const workgroups = partitionsOf(shape) * shape.sequences * shape.kvHeads;
console.log(
  `\n${workgroups} workgroups: ${shape.sequences} sequences × ${shape.kvHeads} key heads × ${partitionsOf(shape)} ` +
    `partitions of ${shape.partition} tokens; each reads its keys once for ${shape.heads / shape.kvHeads} query heads\n`,
);

/** The same sequences elsewhere in the pool: block b moves to the mirrored place, and the tables say so. */
function moved(): Problem {
  const words = shape.kvHeads * BLOCK * shape.headDim;
  const blocks = k!.length / words;
  const mirror = (pool: Float32Array<ArrayBuffer>) => {
    const copy = new Float32Array(pool.length);
    for (let b = 0; b < blocks; b++) copy.set(pool.subarray(b * words, (b + 1) * words), (blocks - 1 - b) * words);
    return copy;
  };
  const elsewhere = new Uint32Array(tables!).map((block) => blocks - 1 - block);
  return { ...problem, inputs: [q, mirror(k!), mirror(v!), elsewhere, problem.inputs[4]!] };
}

async function both(gpu: Gpu, name: string, solution: Solution) {
  const here = await runAndCheck(gpu, name, problem, solution);
  const there = await runAndCheck(gpu, `${name}, moved`, moved(), solution);
  console.log(`  ${''.padEnd(24)} ${here.every((value, i) => value === there[i]) ? 'the same bits' : 'DIFFERENT'}`);
}

const gpu = await gpuOrEnd();
const tile = onGpu(gpu, {}, { threads: 32, tokensAtOnce: 2 });
await both(gpu, 'workgroup memory', pagedDecode(shape, { ...tile, subgroups: false }));
if (gpu.subgroupSize > 1) await both(gpu, 'subgroups', pagedDecode(shape, { ...tile, subgroups: true }));

if (!gpu.isSoftware) {
  const large = { sequences: 24, heads: 32, kvHeads: 8, headDim: 64, blockSize: BLOCK, tableWidth: 128 };
  const tokens = BLOCK * large.tableWidth;
  const amount = 2 * large.sequences * tokens * large.kvHeads * large.headDim * Float32Array.BYTES_PER_ELEMENT;
  const all = pagedProblem(large, Array<number>(large.sequences).fill(tokens), 2);
  await runAndCheck(gpu, `${large.sequences} × ${tokens} tokens`, all, pagedDecode(large), {
    work: { unit: 'bytes', amount },
  });
}
gpu.close();
