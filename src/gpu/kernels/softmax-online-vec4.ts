import { RxllmError } from '../../core/errors.ts';
import type { Kernel } from '../kernel.ts';
import { MASKED } from '../wgsl.ts';
import { MERGE_PARTS } from './softmax-online.ts';
import { ROW_OF_WORKGROUP, rowWorkgroups, type SoftmaxShape } from './softmax-shape.ts';
import { workgroupReduce } from './workgroup-reduce.ts';

/**
 * The online softmax four values at a time: a 16-byte load, and the sum is scaled once for four.
 *
 *     x ▒▒▒▒ ▒▒▒▒ ▒▒▒▒ → their maximum, then maximum and sum so far
 *
 * `columns` is a multiple of 4. Buffers: x, y. @throws RxllmError `RXLLM_KERNEL_INVALID`
 */
export function onlineSoftmaxVec4({ rows, columns, threads = 256 }: SoftmaxShape): Kernel {
  if (columns % 4 !== 0) {
    const message = `softmax online vec4 takes columns in fours, not ${columns}: use softmax online`;
    throw new RxllmError('RXLLM_KERNEL_INVALID', message);
  }
  const quads = columns / 4;
  return {
    name: 'softmax online vec4',
    workgroups: rowWorkgroups(rows),
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

var<workgroup> partial: array<vec2f, ${threads}>;
${MERGE_PARTS}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let row = ${ROW_OF_WORKGROUP};
  if (row >= ${rows}u) { return; }
  let base = row * ${quads}u;
  var maximum = ${MASKED};
  var sum = 0f;
  for (var i = thread; i < ${quads}u; i += ${threads}u) {
    let values = x[base + i];
    let larger = max(maximum, max(max(values.x, values.y), max(values.z, values.w)));
    sum = sum * exp(maximum - larger) + dot(exp(values - larger), vec4f(1));
    maximum = larger;
  }
  partial[thread] = vec2f(maximum, sum);
  ${workgroupReduce('partial', threads, (a, b) => `merge(${a}, ${b})`)}
  let total = partial[0];
  let inverse = 1f / total.y;
  for (var i = thread; i < ${quads}u; i += ${threads}u) { y[base + i] = exp(x[base + i] - total.x) * inverse; }
}`,
  };
}
