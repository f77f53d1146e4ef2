import { MASKED, unroll } from '../wgsl.ts';
import { DEFAULT_PARTITION, type PagedShape, partitionsOf } from './paged-shape.ts';

/** Both ways to attend have these bindings: q, k, v, tables, lengths, outputs, sums. */
export const PAGED_BINDINGS = /* wgsl */ `
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;
@group(0) @binding(4) var<storage, read> lengths: array<u32>;
@group(0) @binding(5) var<storage, read_write> outputs: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2f>;`;

/** Where the key or value of a token starts, in quads: the block by the table, the place in it by the rest. */
export const tokenQuads = ({ kvHeads, headDim, blockSize, tableWidth }: PagedShape): string => /* wgsl */ `
fn quadsOf(sequence: u32, kvHead: u32, token: u32) -> u32 {
  let block = tables[sequence * ${tableWidth}u + token / ${blockSize}u];
  return ((block * ${kvHeads}u + kvHead) * ${blockSize}u + token % ${blockSize}u) * ${headDim / 4}u;
}`;

/** A workgroup a partition, a sequence and a key head, with all query heads that share it. */
export const pagedWorkgroups = (shape: PagedShape): [number, number] => [
  partitionsOf(shape),
  shape.sequences * shape.kvHeads,
];

export const partitionBounds = ({ kvHeads, partition = DEFAULT_PARTITION }: PagedShape): string => /* wgsl */ `
  let sequence = workgroup.y / ${kvHeads}u;
  let kvHead = workgroup.y % ${kvHeads}u;
  let length = lengths[sequence];
  let begin = workgroup.x * ${partition}u;
  let end = min(begin + ${partition}u, length);`;

/**
 * The groups of a workgroup have each seen some of the tokens: their parts become the partition's. `held[g]` has the
 * quads of o of all groups for query head g of the key head, `parts[g]` their maxima and sums.
 */
export function mergeGroups(shape: PagedShape, { threads, groups }: { threads: number; groups: number }): string {
  const { heads, kvHeads, headDim } = shape;
  const shared = heads / kvHeads;
  const headQuads = headDim / 4;
  return /* wgsl */ `
  workgroupBarrier();
  for (var i = thread; i < ${shared * headQuads}u; i += ${threads}u) {
    let g = i / ${headQuads}u;
    let quad = i % ${headQuads}u;
    var maximum = ${MASKED};
    for (var group = 0u; group < ${groups}u; group++) { maximum = max(maximum, parts[g][group].x); }
    var sum = 0f;
    var output = vec4f();
    for (var group = 0u; group < ${groups}u; group++) {
      let share = exp(parts[g][group].x - maximum);
      sum += share * parts[g][group].y;
      output += share * held[g][group * ${headQuads}u + quad];
    }
    let part = (sequence * ${heads}u + kvHead * ${shared}u + g) * ${partitionsOf(shape)}u + workgroup.x;
    outputs[part * ${headQuads}u + quad] = output;
    if (quad == 0u) { sums[part] = vec2f(maximum, sum); }
  }`;
}

/** Declarations of what {@link mergeGroups} reads. */
export const groupMemory = ({ heads, kvHeads, headDim }: PagedShape, groups: number): string => /* wgsl */ `
var<workgroup> held: array<array<vec4f, ${(groups * headDim) / 4}>, ${heads / kvHeads}>;
var<workgroup> parts: array<array<vec2f, ${groups}>, ${heads / kvHeads}>;`;

export const eachSharedHead = ({ heads, kvHeads }: PagedShape, line: (g: number) => string): string =>
  unroll(heads / kvHeads, line);
