/** A kernel of your own: change the WGSL below, or all of it. What it must give is said in float64, and decides. */
import { byKernel, type Kernel, type Problem, randomFloats } from 'rxllm/gpu';
import { size } from '../support/args.ts';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';

const THREADS = 64;
const EPSILON = 1e-5;

const gpu = await gpuOrEnd();
// RMSNorm of chapter 3: y = x / √(mean of x² + ε) × weight, for each row of x.
const rows = onGpu(gpu, 8192, size(200, 7));
const columns = onGpu(gpu, 4096, 574);

/** 1. Inputs, the output's shape, and a row of it as it must be. */
const x = randomFloats(rows * columns, 1);
const weight = randomFloats(columns, 2);
const problem: Problem = {
  inputs: [x, weight],
  rows,
  columns,
  expected: (row) => {
    const values = Float64Array.from(x.subarray(row * columns, (row + 1) * columns));
    const meanSquare = values.reduce((sum, value) => sum + value * value, 0) / columns;
    return values.map((value, i) => (value / Math.sqrt(meanSquare + EPSILON)) * weight[i]!);
  },
};

/** 2. The kernel: its entry is `main`, its buffers are the inputs and then the output, shapes are written into it. */
const kernel: Kernel = {
  name: 'rms norm',
  workgroups: [rows],
  code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

var<workgroup> partial: array<f32, ${THREADS}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let base = workgroup.x * ${columns}u;
  var sum = 0f;
  for (var i = thread; i < ${columns}u; i += ${THREADS}u) { sum += x[base + i] * x[base + i]; }
  partial[thread] = sum;
  workgroupBarrier();
  for (var half = ${THREADS / 2}u; half > 0u; half >>= 1u) {
    if (thread < half) { partial[thread] += partial[thread + half]; }
    workgroupBarrier();
  }
  let scale = inverseSqrt(partial[0] / ${columns}f + ${EPSILON}f);
  for (var i = thread; i < ${columns}u; i += ${THREADS}u) { y[base + i] = x[base + i] * scale * weight[i]; }
}`,
};

/** 3. Run, compare, and on a GPU measure: bytes that have to be read and written. */
const work = { unit: 'bytes', amount: 2 * x.byteLength } as const;
await runAndCheck(gpu, kernel.name, problem, byKernel(kernel), { work });

/** 4. Mistakes are told with their line, or by the comparison. */
const says = (error: unknown) => console.log(`  ${(error as Error).message}`);
console.log('\ntwo mistakes:');
const mistyped = { ...kernel, code: kernel.code.replace('var sum = 0f', 'var sum = 0u') };
await runAndCheck(gpu, 'mistyped', problem, byKernel(mistyped)).catch(says);
const forgotten = { ...kernel, code: kernel.code.replace(' * weight[i]', ' + 0 * weight[i]') };
await runAndCheck(gpu, 'without weight', problem, byKernel(forgotten)).catch(says);
gpu.close();
