import type { Kernel } from '../kernel.ts';
import { MASKED } from '../wgsl.ts';
import { ROW_OF_WORKGROUP, rowWorkgroups, type SoftmaxShape } from './softmax-shape.ts';
import { workgroupReduce } from './workgroup-reduce.ts';

/**
 * WGSL of two parts of a row as one: x is the maximum so far, y the sum of exp(value − maximum). The part with the lower
 * maximum is scaled down. Associative, so any tree will do.
 */
export const MERGE_PARTS = /* wgsl */ `
fn merge(a: vec2f, b: vec2f) -> vec2f {
  let maximum = max(a.x, b.x);
  return vec2f(maximum, a.y * exp(a.x - maximum) + b.y * exp(b.x - maximum));
}`;

/**
 * Milakov and Gimelshein (2018): maximum and sum in one pass. When a larger maximum comes, the sum so far is scaled by
 * exp(old − new), so that it is what it would have been.
 *
 *     x ▒▒▒▒▒▒▒▒▒▒▒▒ → maximum and Σ exp(x − maximum)
 *     x ▒▒▒▒▒▒▒▒▒▒▒▒ → y
 *
 * Buffers: x, y.
 */
export function onlineSoftmax({ rows, columns, threads = 256 }: SoftmaxShape): Kernel {
  return {
    name: 'softmax online',
    workgroups: rowWorkgroups(rows),
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

var<workgroup> partial: array<vec2f, ${threads}>;
${MERGE_PARTS}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let row = ${ROW_OF_WORKGROUP};
  if (row >= ${rows}u) { return; }
  let base = row * ${columns}u;
  var part = vec2f(${MASKED}, 0);
  for (var i = thread; i < ${columns}u; i += ${threads}u) { part = merge(part, vec2f(x[base + i], 1)); }
  partial[thread] = part;
  ${workgroupReduce('partial', threads, (a, b) => `merge(${a}, ${b})`)}
  let maximum = partial[0].x;
  let inverse = 1f / partial[0].y;
  for (var i = thread; i < ${columns}u; i += ${threads}u) { y[base + i] = exp(x[base + i] - maximum) * inverse; }
}`,
  };
}
