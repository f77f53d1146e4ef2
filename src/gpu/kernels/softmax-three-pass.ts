import type { Kernel } from '../kernel.ts';
import { MASKED } from '../wgsl.ts';
import { ROW_OF_WORKGROUP, rowWorkgroups, type SoftmaxShape } from './softmax-shape.ts';
import { workgroupReduce } from './workgroup-reduce.ts';

/**
 * As the formula says: the maximum, then the sum, then the values, and the row is read for each.
 *
 *     x ▒▒▒▒▒▒▒▒▒▒▒▒ → maximum
 *     x ▒▒▒▒▒▒▒▒▒▒▒▒ → Σ exp(x − maximum)
 *     x ▒▒▒▒▒▒▒▒▒▒▒▒ → y
 *
 * Buffers: x, y.
 */
export function threePassSoftmax({ rows, columns, threads = 256 }: SoftmaxShape): Kernel {
  const each = `for (var i = thread; i < ${columns}u; i += ${threads}u)`;
  return {
    name: 'softmax three passes',
    workgroups: rowWorkgroups(rows),
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

var<workgroup> partial: array<f32, ${threads}>;

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let row = ${ROW_OF_WORKGROUP};
  if (row >= ${rows}u) { return; }
  let base = row * ${columns}u;
  var maximum = ${MASKED};
  ${each} { maximum = max(maximum, x[base + i]); }
  partial[thread] = maximum;
  ${workgroupReduce('partial', threads, (a, b) => `max(${a}, ${b})`)}
  maximum = partial[0];
  workgroupBarrier();
  var sum = 0f;
  ${each} { sum += exp(x[base + i] - maximum); }
  partial[thread] = sum;
  ${workgroupReduce('partial', threads, (a, b) => `${a} + ${b}`)}
  let inverse = 1f / partial[0];
  ${each} { y[base + i] = exp(x[base + i] - maximum) * inverse; }
}`,
  };
}
