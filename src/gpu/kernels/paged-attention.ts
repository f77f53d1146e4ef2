import { RxllmError } from '../../core/errors.ts';
import type { Kernel } from '../kernel.ts';
import { MASKED, unroll } from '../wgsl.ts';
import { scoreScale } from './attention-shape.ts';
import {
  eachSharedHead,
  groupMemory,
  mergeGroups,
  PAGED_BINDINGS,
  pagedWorkgroups,
  partitionBounds,
  tokenQuads,
} from './paged-common.ts';
import type { PagedShape } from './paged-shape.ts';

export interface PagedTile {
  /** Threads that share a token; a power of two that divides headDim / 4. */
  readonly lanes: number;
  /** A workgroup. */
  readonly threads: number;
  /** Tokens a group of lanes reads before it computes with any: loads in flight. */
  readonly tokensAtOnce: number;
}

const TILE: PagedTile = { lanes: 16, threads: 64, tokensAtOnce: 4 };

/** The most lanes that `headDim` and a subgroup allow. */
export function lanesFor(headDim: number, subgroupSize: number): number {
  let lanes = 1;
  while (lanes < TILE.lanes && (headDim / 4) % (lanes * 2) === 0 && lanes * 2 <= subgroupSize) lanes *= 2;
  return lanes;
}

/**
 * PagedAttention (Kwon et al. 2023) for one new token a sequence, split over partitions as in Flash-Decoding. `lanes`
 * threads read a token's key and value together; each group of them runs its own online softmax over its tokens, for all
 * query heads of the key head at once, so that a key is read once.
 *
 *     block table   7  2  9        token 37 = place 5 of its block 2 (block size 16), in the pool at block 9
 *                   │  │  └──────→ ┌────────────────┐
 *                   │  └───→ …     │ ▒▒▒▒ key  ▒▒▒▒ │ lanes 0 1 2 3 …, a quad each
 *                   └──────→ …     └────────────────┘
 *     group 0   tokens 0,  8, 16, …  ┐
 *     group 1   tokens 1,  9, 17, …  ├ merged at the end, then the partitions by {@link pagedMerge}
 *     …                              ┘
 *
 * `subgroups`: the lanes of a token add up their products by shuffles; without, through workgroup memory.
 * Buffers: q, k, v, tables, lengths, outputs, sums.
 * @throws RxllmError `RXLLM_KERNEL_INVALID` where `lanes` do not fit
 */
export function pagedAttention(shape: PagedShape & Partial<PagedTile> & { readonly subgroups: boolean }): Kernel {
  const { heads, kvHeads, headDim, subgroups } = shape;
  const { lanes, threads, tokensAtOnce } = { ...TILE, ...shape };
  const headQuads = headDim / 4;
  if (headQuads % lanes !== 0 || threads % lanes !== 0 || (lanes & (lanes - 1)) !== 0) {
    throw new RxllmError(
      'RXLLM_KERNEL_INVALID',
      `paged attention: ${lanes} lanes for ${headQuads} quads and ${threads} threads`,
    );
  }
  const shared = heads / kvHeads;
  const groups = threads / lanes;
  const chunks = headQuads / lanes;
  const each = (line: (g: number) => string) => eachSharedHead(shape, line);
  const eachToken = (line: (t: number) => string) => unroll(tokensAtOnce, line);
  const addUp = subgroups ? addByShuffles : addInMemory;
  return {
    name: `paged attention${subgroups ? ', subgroups' : ''}`,
    workgroups: pagedWorkgroups(shape),
    code: /* wgsl */ `
${subgroups ? 'enable subgroups;' : ''}
${PAGED_BINDINGS}
${tokenQuads(shape)}
${groupMemory(shape, groups)}
${subgroups ? '' : `var<workgroup> products: array<f32, ${threads * tokensAtOnce}>;`}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
  ${partitionBounds(shape)}
  let lane = thread % ${lanes}u;
  let group = thread / ${lanes}u;
  let query = (sequence * ${heads}u + kvHead * ${shared}u) * ${headQuads}u + lane;
  ${each(
    (g) => `
  var maximum${g} = ${MASKED};
  var sum${g} = 0f;
  ${unroll(
    chunks,
    (c) => `
  let q${g}_${c} = q[query + ${g * headQuads + c * lanes}u] * ${scoreScale(headDim)};
  var o${g}_${c} = vec4f();`,
  )}`,
  )}
  for (var start = begin; start < end; start += ${groups * tokensAtOnce}u) {
    ${eachToken(
      (t) => `
    let token${t} = start + group + ${t * groups}u;
    let at${t} = quadsOf(sequence, kvHead, min(token${t}, length - 1u)) + lane;
    ${unroll(chunks, (c) => `let k${t}_${c} = k[at${t} + ${c * lanes}u]; let v${t}_${c} = v[at${t} + ${c * lanes}u];`)}`,
    )}
    ${each((g) => {
      const product = (t: number) =>
        Array.from({ length: chunks }, (_, c) => `dot(q${g}_${c}, k${t}_${c})`).join(' + ');
      return `{
      var larger = maximum${g};
      ${eachToken((t) => `var score${t} = ${product(t)};`)}
      ${addUp(lanes, threads, tokensAtOnce)}
      ${eachToken(
        (t) => `
      score${t} = select(${MASKED}, score${t}, token${t} < end);
      larger = max(larger, score${t});`,
      )}
      let shrink = exp(maximum${g} - larger);
      maximum${g} = larger;
      sum${g} *= shrink;
      ${unroll(chunks, (c) => `o${g}_${c} *= shrink;`)}
      ${eachToken(
        (t) => `
      let weight${t} = select(0f, exp(score${t} - larger), token${t} < end);
      sum${g} += weight${t};
      ${unroll(chunks, (c) => `o${g}_${c} = fma(vec4f(weight${t}), v${t}_${c}, o${g}_${c});`)}`,
      )}
    }`;
    })}
  }
  ${each(
    (g) => `
  ${unroll(chunks, (c) => `held[${g}][group * ${headQuads}u + lane + ${c * lanes}u] = o${g}_${c};`)}
  if (lane == 0u) { parts[${g}][group] = vec2f(maximum${g}, sum${g}); }`,
  )}
  ${mergeGroups(shape, { threads, groups })}
}`,
  };
}

/** The lanes swap with the one 1, 2, 4, … away: after each turn, twice as many have the same sum. */
const addByShuffles = (lanes: number, _threads: number, tokens: number): string =>
  unroll(Math.log2(lanes), (turn) =>
    unroll(tokens, (t) => `score${t} += subgroupShuffleXor(score${t}, ${2 ** turn}u);`),
  );

/** Each lane leaves its products, and adds up those of all. */
const addInMemory = (lanes: number, threads: number, tokens: number): string => `
      ${unroll(tokens, (t) => `products[thread + ${t * threads}u] = score${t}; score${t} = 0f;`)}
      workgroupBarrier();
      for (var i = 0u; i < ${lanes}u; i++) {
        ${unroll(tokens, (t) => `score${t} += products[group * ${lanes}u + i + ${t * threads}u];`)}
      }
      workgroupBarrier();`;
