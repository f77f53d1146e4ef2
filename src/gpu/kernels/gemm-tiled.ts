import type { Kernel } from '../kernel.ts';
import { ceilDivide } from '../wgsl.ts';
import type { GemmShape } from './gemm-naive.ts';

/**
 * A workgroup a tile of C. Its threads fetch a tile of A and one of B together, one element each, and then read them
 * `tile` times from workgroup memory: a `tile`th of the loads from memory.
 *
 *                 ┌────┐
 *              B  │▒▒▒▒│  tile × tile, to workgroup memory
 *                 ├────┤
 *                 │    │
 *     A           └────┘
 *     ┌────┬────┐ ┌────┐
 *     │▒▒▒▒│ →  │ │ C  │  a thread an element
 *     └────┴────┘ └────┘
 *
 * Buffers: A, B, C.
 */
export function tiledGemm({ m, n, k, tile = 16 }: GemmShape & { readonly tile?: number }): Kernel {
  return {
    name: 'gemm tiled',
    workgroups: [ceilDivide(n, tile), ceilDivide(m, tile)],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

var<workgroup> aTile: array<array<f32, ${tile}>, ${tile}>;
var<workgroup> bTile: array<array<f32, ${tile}>, ${tile}>;

@compute @workgroup_size(${tile}, ${tile})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let row = id.y;
  let column = id.x;
  var sum = 0f;
  for (var k0 = 0u; k0 < ${k}u; k0 += ${tile}u) {
    // Past the edges are zeros, which add nothing.
    let ka = k0 + local.x;
    let kb = k0 + local.y;
    aTile[local.y][local.x] = 0f;
    bTile[local.y][local.x] = 0f;
    if (row < ${m}u && ka < ${k}u) { aTile[local.y][local.x] = a[row * ${k}u + ka]; }
    if (kb < ${k}u && column < ${n}u) { bTile[local.y][local.x] = b[kb * ${n}u + column]; }
    workgroupBarrier();
    for (var i = 0u; i < ${tile}u; i++) { sum += aTile[local.y][i] * bTile[i][local.x]; }
    workgroupBarrier();
  }
  if (row < ${m}u && column < ${n}u) { c[row * ${n}u + column] = sum; }
}`,
  };
}
