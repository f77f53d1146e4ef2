import { RxllmError } from '../../core/errors.ts';
import type { Kernel } from '../kernel.ts';
import { ceilDivide, unroll, XYZW } from '../wgsl.ts';
import type { GemmShape } from './gemm-naive.ts';
import { readQuads, writeQuads } from './matrix-quads.ts';

export interface RegisterTile {
  /** Of C, a workgroup. */
  readonly tileM: number;
  readonly tileN: number;
  /** Of k, a turn. */
  readonly tileK: number;
  /** Of C, a thread: multiples of 4. */
  readonly threadM: number;
  readonly threadN: number;
  /** The next tiles are fetched while these are multiplied, which costs registers. */
  readonly prefetch: boolean;
}

const TILE: RegisterTile = { tileM: 128, tileN: 128, tileK: 16, threadM: 16, threadN: 8, prefetch: true };

/**
 * A thread holds `threadM × threadN` sums in registers: for each k it reads a piece of a column of A and of a row of B
 * from workgroup memory and multiplies all with all, 128 multiply-adds for 24 numbers.
 *
 *                  B tile [tileK, tileN]
 *                 ┌──────────────────┐
 *                 │  b0 b1   b0 b1   │ ← one k
 *     Aᵀ tile     └──────────────────┘
 *     [tileK,     ┌──────────────────┐
 *      tileM]  a0 │  ▒▒ ▒▒   ▒▒ ▒▒   │   ▒ the sums of one thread,
 *              a1 │  ▒▒ ▒▒   ▒▒ ▒▒   │     in groups of 4 × 4
 *                 │                  │
 *              a0 │  ▒▒ ▒▒   ▒▒ ▒▒   │
 *              a1 │  ▒▒ ▒▒   ▒▒ ▒▒   │
 *                 └──────────────────┘
 *                      C tile
 *
 * Neighbouring threads have neighbouring groups, so that they read neighbouring words. A is stored transposed, so that a
 * thread's piece of a column is a vec4. Buffers: A, B, C.
 */
export function registerGemm({ m, n, k, ...rest }: GemmShape & Partial<RegisterTile>): Kernel {
  const { tileM, tileN, tileK, threadM, threadN, prefetch } = { ...TILE, ...rest };
  if ([tileM, tileN, tileK, threadM, threadN].some((size) => size % 4 !== 0) || tileM % threadM || tileN % threadN) {
    const message = `tiles are multiples of 4 and of what a thread takes; not ${tileM}×${tileN}×${tileK} by ${threadM}×${threadN}`;
    throw new RxllmError('RXLLM_KERNEL_INVALID', message);
  }
  const across = tileN / threadN;
  const down = tileM / threadM;
  const threads = across * down;
  const groupsN = threadN / 4;
  const groupsM = threadM / 4;
  /** `count` pieces of work, each by the next thread: the WGSL of each round, with the piece's number as `i`. */
  const share = (count: number, work: (round: number) => string) =>
    unroll(ceilDivide(count, threads), (round) => {
      const guarded = (round + 1) * threads > count;
      const body = `let i = thread + ${round * threads}u; ${work(round)}`;
      return guarded ? `if (thread + ${round * threads}u < ${count}u) { ${body} }` : `{ ${body} }`;
    });
  const patches = (tileM * tileK) / 16;
  const quads = (tileK * tileN) / 4;
  const fetch = `
    ${share(
      patches,
      (round) => `
      let row = m0 + i / ${tileK / 4}u * 4u;
      let quad = (k0 + i % ${tileK / 4}u * 4u) / 4u;
      ${unroll(4, (r) => `a${round}${r} = aQuad(row + ${r}u, quad);`)}`,
    )}
    ${share(quads, (round) => `b${round} = bQuad(k0 + i / ${tileN / 4}u, n0 / 4u + i % ${tileN / 4}u);`)}`;
  return {
    name: 'gemm register',
    workgroups: [ceilDivide(n, tileN), ceilDivide(m, tileM)],
    code: /* wgsl */ `
${readQuads({ name: 'a', binding: 0, rows: m, columns: k, tile: { rows: tileM, columns: tileK } })}
${readQuads({ name: 'b', binding: 1, rows: k, columns: n, tile: { rows: tileK, columns: tileN } })}
${writeQuads({ name: 'c', binding: 2, rows: m, columns: n, tile: { rows: tileM, columns: tileN } })}

var<workgroup> aTile: array<vec4f, ${(tileK * tileM) / 4}>; // [tileK, tileM / 4]
var<workgroup> bTile: array<vec4f, ${(tileK * tileN) / 4}>; // [tileK, tileN / 4]

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  let m0 = workgroup.y * ${tileM}u;
  let n0 = workgroup.x * ${tileN}u;
  let x = thread % ${across}u;
  let y = thread / ${across}u;
  ${unroll(threadM * groupsN, (i) => `var sum${i} = vec4f();`)}
  ${unroll(ceilDivide(patches, threads), (round) => unroll(4, (r) => `var a${round}${r} = vec4f();`))}
  ${unroll(ceilDivide(quads, threads), (round) => `var b${round} = vec4f();`)}
  ${prefetch ? `{ let k0 = 0u; ${fetch} }` : ''}
  for (var step = 0u; step < ${k}u; step += ${tileK}u) {
    ${prefetch ? '' : `{ let k0 = step; ${fetch} }`}
    ${share(
      patches,
      (round) => `
      let at = i % ${tileK / 4}u * ${tileM}u + i / ${tileK / 4}u;
      ${unroll(4, (r) => `aTile[at + ${(r * tileM) / 4}u] = vec4f(${[0, 1, 2, 3].map((row) => `a${round}${row}.${XYZW[r]}`).join(', ')});`)}`,
    )}
    ${share(quads, (round) => `bTile[i] = b${round};`)}
    workgroupBarrier();
    ${prefetch ? `if (step + ${tileK}u < ${k}u) { let k0 = step + ${tileK}u; ${fetch} }` : ''}
    for (var i = 0u; i < ${tileK}u; i++) {
      ${unroll(groupsN, (h) => `let right${h} = bTile[i * ${tileN / 4}u + x + ${h * across}u];`)}
      ${unroll(groupsM, (g) => `let left${g} = aTile[i * ${tileM / 4}u + y + ${g * down}u];`)}
      ${unroll(threadM, (row) =>
        unroll(groupsN, (h) => {
          const sum = `sum${row * groupsN + h}`;
          return `${sum} = fma(vec4f(left${row >> 2}.${XYZW[row & 3]}), right${h}, ${sum});`;
        }),
      )}
    }
    workgroupBarrier();
  }
  ${unroll(threadM, (row) =>
    unroll(groupsN, (h) => {
      const at = `m0 + (y + ${(row >> 2) * down}u) * 4u + ${row & 3}u, n0 / 4u + x + ${h * across}u`;
      return `cSetQuad(${at}, sum${row * groupsN + h});`;
    }),
  )}
}`,
  };
}
