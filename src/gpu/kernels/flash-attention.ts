import { RxllmError } from '../../core/errors.ts';
import type { Kernel } from '../kernel.ts';
import { ceilDivide, MASKED, unroll, XYZW } from '../wgsl.ts';
import { type AttentionShape, scoreScale } from './attention-shape.ts';
import type { FlashTile } from './flash-tile.ts';

/**
 * FlashAttention (Dao et al. 2022): a workgroup holds a tile of queries and walks over tiles of keys and values. The
 * scores of a tile live in workgroup memory only, as softmax needs no more than each query's maximum and sum so far.
 *
 *     k tiles      0     1     2     3
 *                ┌─────┬─────┬─────┬─────┐
 *     q tile 0   │  1  │     │     │     │   1 2 3: turns of the one workgroup of that row;
 *                ├─────┼─────┼─────┼─────┤   tiles above the diagonal have none
 *     q tile 1   │  1  │  2  │     │     │
 *                └─────┴─────┴─────┴─────┘
 *
 * A turn, in which each thread has `threadQueries` × 4 scores and `threadQueries` × headDim / lanes sums of o:
 *
 *     k tile, transposed ──┐
 *                          ├─→ scores → maximum, exp ──→ weights ─┐
 *     q tile, transposed ──┘                     v tile ──────────┴─→ o
 *
 * Workgroup memory holds q, then k and v by turns in one place, and the weights: see `flashBytes`.
 * Buffers: q, k, v, o. @throws RxllmError `RXLLM_KERNEL_INVALID` where tiles and headDim do not fit
 */
export function flashAttention(shape: AttentionShape & FlashTile): Kernel {
  const { tokens, heads, kvHeads, headDim, queryTile, keyTile, threadQueries } = shape;
  if (headDim % keyTile || keyTile % 4 || queryTile % threadQueries || threadQueries % 4) {
    const message = `headDim ${headDim} in tiles of ${queryTile} queries by ${threadQueries} and ${keyTile} keys`;
    throw new RxllmError('RXLLM_KERNEL_INVALID', `flash attention cannot take ${message}`);
  }
  /** Threads side by side; each has four keys of a tile, and of o every `lanes`th quad. */
  const lanes = keyTile / 4;
  const threads = lanes * (queryTile / threadQueries);
  const headQuads = headDim / 4;
  const chunks = headQuads / lanes;
  const queryQuads = queryTile / 4;
  const groups = threadQueries / 4;
  const last = tokens - 1;
  const fewer = queryTile % threadQueries === 0 && tokens % queryTile === 0;
  const clamp = (index: string) =>
    tokens % queryTile === 0 && tokens % keyTile === 0 ? `(${index})` : `min(${index}, ${last}u)`;
  /** Thread `y` has the queries of quads y, y + stride, …, so that neighbours read neighbouring quads. */
  const stride = queryQuads / groups;
  const each = (line: (query: number) => string) => unroll(threadQueries, line);
  const eachGroup = (line: (group: number) => string) => unroll(groups, line);
  const of = (query: number) => `${query >> 2}.${XYZW[query & 3]}`;
  const column = (r: number, name: string) => `vec4f(${[0, 1, 2, 3].map((i) => `${name}${i}.${XYZW[r]}`).join(', ')})`;
  return {
    name: 'flash attention',
    workgroups: [ceilDivide(tokens, queryTile), heads],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> o: array<vec4f>;

var<workgroup> qTile: array<vec4f, ${headDim * queryQuads}>;             // [headDim, queryTile / 4]
var<workgroup> kvTile: array<vec4f, ${(keyTile * headDim) / 4}>;         // k [headDim, keyTile / 4], then v [keyTile, headDim / 4]
var<workgroup> weights: array<vec4f, ${keyTile * queryQuads}>;           // [keyTile, queryTile / 4]

@compute @workgroup_size(${threads})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  // The longest rows first: no workgroup is left to run alone at the end.
  let query0 = (workgroups.x - 1u - workgroup.x) * ${queryTile}u;
  let head = workgroup.y;
  let kvHead = head / ${heads / kvHeads}u;
  let x = thread % ${lanes}u;
  let y = thread / ${lanes}u;
  for (var i = thread; i < ${queryQuads * headQuads}u; i += ${threads}u) {
    let quad = i % ${headQuads}u;
    let row = i / ${headQuads}u;
    ${unroll(4, (r) => `let row${r} = q[(${clamp(`query0 + row * 4u + ${r}u`)} * ${heads}u + head) * ${headQuads}u + quad] * ${scoreScale(headDim)};`)}
    ${unroll(4, (r) => `qTile[(quad * 4u + ${r}u) * ${queryQuads}u + row] = ${column(r, 'row')};`)}
  }
  ${each((i) => unroll(chunks, (c) => `var o${i}_${c} = vec4f();`))}
  ${eachGroup(
    (g) => `
  var maximum${g} = vec4f(${MASKED});
  var sum${g} = vec4f();
  let first${g} = query0 + (y + ${g * stride}u) * 4u;`,
  )}
  let end = min(query0 + ${queryTile}u, ${tokens}u);
  for (var key0 = 0u; key0 < end; key0 += ${keyTile}u) {
    for (var i = thread; i < ${(keyTile * headDim) / 16}u; i += ${threads}u) {
      let quad = i % ${headQuads}u;
      let key = i / ${headQuads}u;
      ${unroll(4, (r) => `let row${r} = k[(${clamp(`key0 + key * 4u + ${r}u`)} * ${kvHeads}u + kvHead) * ${headQuads}u + quad];`)}
      ${unroll(4, (r) => `kvTile[(quad * 4u + ${r}u) * ${lanes}u + key] = ${column(r, 'row')};`)}
    }
    workgroupBarrier();
    ${each((i) => `var score${i} = vec4f();`)}
    for (var d = 0u; d < ${headDim}u; d++) {
      let keys = kvTile[d * ${lanes}u + x];
      ${eachGroup((g) => `let queries${g} = qTile[d * ${queryQuads}u + y + ${g * stride}u];`)}
      ${each((i) => `score${i} = fma(vec4f(queries${of(i)}), keys, score${i});`)}
    }
    let key = vec4u(key0 + x * 4u) + vec4u(0, 1, 2, 3);
    ${each((i) => `score${i} = select(vec4f(${MASKED}), score${i}, key <= vec4u(first${i >> 2} + ${i & 3}u));`)}
    // The lanes of a query tell each other their maxima, where the weights will stand.
    ${eachGroup(
      (g) =>
        `weights[(y + ${g * stride}u) * ${lanes}u + x] = vec4f(${[0, 1, 2, 3]
          .map((i) => `score${g * 4 + i}`)
          .map((s) => `max(max(${s}.x, ${s}.y), max(${s}.z, ${s}.w))`)
          .join(', ')});`,
    )}
    workgroupBarrier();
    ${eachGroup(
      (g) => `
    var larger${g} = maximum${g};
    ${unroll(lanes, (lane) => `larger${g} = max(larger${g}, weights[(y + ${g * stride}u) * ${lanes}u + ${lane}u]);`)}
    let shrink${g} = exp(maximum${g} - larger${g});
    maximum${g} = larger${g};
    sum${g} *= shrink${g};`,
    )}
    ${each(
      (i) => `
    score${i} = exp(score${i} - vec4f(maximum${of(i)}));
    ${unroll(chunks, (c) => `o${i}_${c} *= shrink${of(i)};`)}`,
    )}
    workgroupBarrier();
    ${eachGroup((g) => unroll(4, (r) => `weights[(x * 4u + ${r}u) * ${queryQuads}u + y + ${g * stride}u] = vec4f(${[0, 1, 2, 3].map((i) => `score${g * 4 + i}.${XYZW[r]}`).join(', ')});`))}
    for (var i = thread; i < ${keyTile * headQuads}u; i += ${threads}u) {
      kvTile[i] = v[(${clamp(`key0 + i / ${headQuads}u`)} * ${kvHeads}u + kvHead) * ${headQuads}u + i % ${headQuads}u];
    }
    workgroupBarrier();
    for (var i = 0u; i < ${keyTile}u; i++) {
      ${eachGroup(
        (g) => `
      let weight${g} = weights[i * ${queryQuads}u + y + ${g * stride}u];
      sum${g} += weight${g};`,
      )}
      ${unroll(chunks, (c) => `let value${c} = kvTile[i * ${headQuads}u + x + ${c * lanes}u];`)}
      ${each((i) => unroll(chunks, (c) => `o${i}_${c} = fma(vec4f(weight${of(i)}), value${c}, o${i}_${c});`))}
    }
    workgroupBarrier();
  }
  ${each((i) => {
    const write = unroll(chunks, (c) => `o[at + ${c * lanes}u] = o${i}_${c} / sum${of(i)};`);
    const query = `first${i >> 2} + ${i & 3}u`;
    const body = `let at = ((${query}) * ${heads}u + head) * ${headQuads}u + x; ${write}`;
    return fewer ? `{ ${body} }` : `if (${query} < ${tokens}u) { ${body} }`;
  })}
}`,
  };
}
