import type { Kernel } from '../kernel.ts';
import { ceilDivide, MASKED } from '../wgsl.ts';
import { type AttentionShape, scoreScale } from './attention-shape.ts';

export interface HeadRange extends AttentionShape {
  /** The first query head, and how many: all scores of a few heads are as much as fits. */
  readonly firstHead: number;
  readonly headCount: number;
  readonly tile?: number;
}

/**
 * Every score of every head to memory, `[headCount, tokens, tokens]`: tokens² numbers a head, and as many again after
 * softmax. A tiled GEMM of q and kᵀ.
 *
 *         kᵀ ──────────┐
 *     q   ┌──────────┐
 *     │   │ s        │   above the diagonal: masked, but written
 *     │   │ s s      │
 *     └   │ s s s    │
 *
 * Buffers: q, k, scores.
 */
export function attentionScores({
  tokens,
  heads,
  kvHeads,
  headDim,
  firstHead,
  headCount,
  tile = 16,
}: HeadRange): Kernel {
  return {
    name: 'attention scores',
    workgroups: [ceilDivide(tokens, tile), ceilDivide(tokens, tile), headCount],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read_write> scores: array<f32>;

var<workgroup> qTile: array<array<f32, ${tile}>, ${tile}>;
var<workgroup> kTile: array<array<f32, ${tile + 1}>, ${tile}>;

@compute @workgroup_size(${tile}, ${tile})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let head = workgroup.z + ${firstHead}u;
  let kvHead = head / ${heads / kvHeads}u;
  let query = workgroup.y * ${tile}u + local.y;
  let key = workgroup.x * ${tile}u + local.x;
  let fetched = workgroup.x * ${tile}u + local.y;
  var score = 0f;
  for (var d0 = 0u; d0 < ${headDim}u; d0 += ${tile}u) {
    let d = d0 + local.x;
    qTile[local.y][local.x] = 0f;
    kTile[local.y][local.x] = 0f;
    if (d < ${headDim}u && query < ${tokens}u) { qTile[local.y][local.x] = q[(query * ${heads}u + head) * ${headDim}u + d]; }
    if (d < ${headDim}u && fetched < ${tokens}u) { kTile[local.y][local.x] = k[(fetched * ${kvHeads}u + kvHead) * ${headDim}u + d]; }
    workgroupBarrier();
    for (var i = 0u; i < ${tile}u; i++) { score += qTile[local.y][i] * kTile[local.x][i]; }
    workgroupBarrier();
  }
  if (query < ${tokens}u && key < ${tokens}u) {
    scores[(workgroup.z * ${tokens}u + query) * ${tokens}u + key] = select(${MASKED}, score * ${scoreScale(headDim)}, key <= query);
  }
}`,
  };
}

/** o = weights `[headCount, tokens, tokens]` · v, the other tiled GEMM. Buffers: weights, v, o. */
export function attentionValues({
  tokens,
  heads,
  kvHeads,
  headDim,
  firstHead,
  headCount,
  tile = 16,
}: HeadRange): Kernel {
  return {
    name: 'attention values',
    workgroups: [ceilDivide(headDim, tile), ceilDivide(tokens, tile), headCount],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;

var<workgroup> wTile: array<array<f32, ${tile}>, ${tile}>;
var<workgroup> vTile: array<array<f32, ${tile}>, ${tile}>;

@compute @workgroup_size(${tile}, ${tile})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let head = id.z + ${firstHead}u;
  let kvHead = head / ${heads / kvHeads}u;
  let query = id.y;
  let d = id.x;
  var sum = 0f;
  for (var key0 = 0u; key0 < ${tokens}u; key0 += ${tile}u) {
    let key = key0 + local.x;
    let fetched = key0 + local.y;
    wTile[local.y][local.x] = 0f;
    vTile[local.y][local.x] = 0f;
    if (query < ${tokens}u && key < ${tokens}u) { wTile[local.y][local.x] = weights[(id.z * ${tokens}u + query) * ${tokens}u + key]; }
    if (fetched < ${tokens}u && d < ${headDim}u) { vTile[local.y][local.x] = v[(fetched * ${kvHeads}u + kvHead) * ${headDim}u + d]; }
    workgroupBarrier();
    for (var i = 0u; i < ${tile}u; i++) { sum += wTile[local.y][i] * vTile[i][local.x]; }
    workgroupBarrier();
  }
  if (query < ${tokens}u && d < ${headDim}u) { o[(query * ${heads}u + head) * ${headDim}u + d] = sum; }
}`,
  };
}
