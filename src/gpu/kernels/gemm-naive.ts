import type { Kernel } from '../kernel.ts';
import { ceilDivide } from '../wgsl.ts';

/** C `[m, n]` = A `[m, k]` · B `[k, n]`, row by row in memory. */
export interface GemmShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/**
 * A thread an element of C, which reads all it needs from memory: 2 k loads for k multiply-adds.
 *
 *            B  │ ↓
 *               │ ↓  column n
 *     A         │ ↓
 *     ───────┐  C
 *     → → → →   x      row m · column n
 *     ───────┘
 *
 * Buffers: A, B, C.
 */
export function naiveGemm({ m, n, k, tile = 16 }: GemmShape & { readonly tile?: number }): Kernel {
  return {
    name: 'gemm naive',
    workgroups: [ceilDivide(n, tile), ceilDivide(m, tile)],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(${tile}, ${tile})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let column = id.x;
  if (row >= ${m}u || column >= ${n}u) { return; }
  var sum = 0f;
  for (var k = 0u; k < ${k}u; k++) { sum += a[row * ${k}u + k] * b[k * ${n}u + column]; }
  c[row * ${n}u + column] = sum;
}`,
  };
}
