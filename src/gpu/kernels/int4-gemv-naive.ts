import type { Kernel } from '../kernel.ts';
import { CODES_A_WORD, type Int4Shape } from './int4-shape.ts';
import { workgroupReduce } from './workgroup-reduce.ts';

/**
 * A workgroup a row of W; a thread takes every `threads`th word, and its codes one by one.
 *
 *     W row  ▒░▓▒░▓▒░▓   thread 0 ▒, 1 ░, 2 ▓
 *     x      ▒░▓▒░▓▒░▓   the same places, read again for every row
 *
 * Buffers: codes, scales, x `[blocks × blockSize]`, y.
 */
export function naiveInt4Gemv({
  rows,
  blocks,
  blockSize,
  threads = 64,
}: Int4Shape & { readonly threads?: number }): Kernel {
  const wordsABlock = blockSize / CODES_A_WORD;
  const words = blocks * wordsABlock;
  return {
    name: 'int4 gemv naive',
    workgroups: [rows],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> codes: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

var<workgroup> partial: array<f32, ${threads}>;

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let row = workgroup.x;
  var sum = 0f;
  for (var word = thread; word < ${words}u; word += ${threads}u) {
    let packed = codes[row * ${words}u + word];
    let scale = scales[row * ${blocks}u + word / ${wordsABlock}u];
    for (var i = 0u; i < ${CODES_A_WORD}u; i++) {
      let code = (packed >> (4u * i)) & 15u;
      sum += scale * (f32(code) - 8f) * x[word * ${CODES_A_WORD}u + i];
    }
  }
  partial[thread] = sum;
  ${workgroupReduce('partial', threads, (a, b) => `${a} + ${b}`)}
  if (thread == 0u) { y[row] = partial[0]; }
}`,
  };
}
