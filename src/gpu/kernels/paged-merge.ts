import type { Kernel } from '../kernel.ts';
import { MASKED } from '../wgsl.ts';
import { type PagedShape, partitionsOf } from './paged-shape.ts';

/**
 * The partitions of a sequence become one, as the parts of a row in online softmax do: each is scaled by
 * exp(its maximum − the largest). A workgroup a query head, a thread a number of it. Buffers: outputs, sums, o.
 */
export function pagedMerge(shape: PagedShape): Kernel {
  const { sequences, heads, headDim } = shape;
  const partitions = partitionsOf(shape);
  return {
    name: 'paged attention, merging',
    workgroups: [sequences * heads],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> outputs: array<f32>;
@group(0) @binding(1) var<storage, read> sums: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;

@compute @workgroup_size(${headDim})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first = workgroup.x * ${partitions}u;
  var maximum = ${MASKED};
  for (var part = first; part < first + ${partitions}u; part++) { maximum = max(maximum, sums[part].x); }
  var sum = 0f;
  var output = 0f;
  for (var part = first; part < first + ${partitions}u; part++) {
    let share = exp(sums[part].x - maximum);
    sum += share * sums[part].y;
    output += share * outputs[part * ${headDim}u + thread];
  }
  o[workgroup.x * ${headDim}u + thread] = output / sum;
}`,
  };
}
