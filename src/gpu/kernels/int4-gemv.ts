import type { Kernel } from '../kernel.ts';
import { ceilDivide, unroll } from '../wgsl.ts';
import { CODES_A_WORD, type Int4Shape } from './int4-shape.ts';

export interface Int4GemvTile {
  /** Of W, a workgroup: x is read once for all of them. */
  readonly rowsAtOnce: number;
  /** A power of two. */
  readonly threads: number;
}

const TILE: Int4GemvTile = { rowsAtOnce: 8, threads: 128 };

/**
 * One u32, eight codes, a thread and row; neighbouring threads read neighbouring words of W and of x.
 *
 *     x          ▒░▓▒░▓▒░▓   eight values a thread, once for all rows
 *     W row 0    ▒░▓▒░▓▒░▓   a word a thread
 *     W row 1    ▒░▓▒░▓▒░▓
 *     …
 *
 * A code becomes a float without being converted: its bits are put at the top of the fraction of 1.0, which makes
 * 1 + code / 16. So a word's sum is Σ x (1 + code / 16) = (Σ x (code − 8) + 24 Σ x) / 16, and 1.5 Σ x, the same for all
 * rows, is taken off.
 *
 * Buffers: codes, scales, x `[blocks × blockSize]`, y.
 */
export function int4Gemv({ rows, blocks, blockSize, ...rest }: Int4Shape & Partial<Int4GemvTile>): Kernel {
  const { rowsAtOnce, threads } = { ...TILE, ...rest };
  const wordsABlock = blockSize / CODES_A_WORD;
  const words = blocks * wordsABlock;
  const whole = rows % rowsAtOnce === 0;
  return {
    name: 'int4 gemv',
    workgroups: [ceilDivide(rows, rowsAtOnce)],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> codes: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

var<workgroup> partial: array<array<f32, ${threads}>, ${rowsAtOnce}>;

fn ones(bits: vec4u) -> vec4f { return bitcast<vec4f>((bits & vec4u(0x780000u)) | vec4u(0x3f800000u)); }
fn low(word: u32) -> vec4f { return ones(vec4u(word << 19u, word << 15u, word << 11u, word << 7u)); }
fn high(word: u32) -> vec4f { return ones(vec4u(word << 3u, word >> 1u, word >> 5u, word >> 9u)); }

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let firstRow = workgroup.x * ${rowsAtOnce}u;
  ${unroll(rowsAtOnce, (r) => `var sum${r} = 0f; let row${r} = ${whole ? `firstRow + ${r}u` : `min(firstRow + ${r}u, ${rows - 1}u)`};`)}
  for (var word = thread; word < ${words}u; word += ${threads}u) {
    let block = word / ${wordsABlock}u;
    ${unroll(rowsAtOnce, (r) => `let word${r} = codes[row${r} * ${words}u + word]; let scale${r} = scales[row${r} * ${blocks}u + block];`)}
    let x0 = x[2u * word];
    let x1 = x[2u * word + 1u];
    let offset = 1.5 * dot(x0 + x1, vec4f(1));
    ${unroll(rowsAtOnce, (r) => `sum${r} = fma(scale${r}, dot(x0, low(word${r})) + dot(x1, high(word${r})) - offset, sum${r});`)}
  }
  ${unroll(rowsAtOnce, (r) => `partial[${r}][thread] = sum${r};`)}
  workgroupBarrier();
  for (var half = ${threads / 2}u; half > 0u; half >>= 1u) {
    if (thread < half) {
      ${unroll(rowsAtOnce, (r) => `partial[${r}][thread] += partial[${r}][thread + half];`)}
    }
    workgroupBarrier();
  }
  if (thread < ${rowsAtOnce}u && firstRow + thread < ${rows}u) { y[firstRow + thread] = 16f * partial[thread][0]; }
}`,
  };
}
