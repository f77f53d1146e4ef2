import type { AttentionKernel } from './attention.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';

/** Tokens a tile, at most. A tile of scores is `[rows, kvHeads, QUERY_TILE × group, KEY_TILE]`, whatever a prompt's length. */
export const QUERY_TILE = 128;
export const KEY_TILE = 256;

/** Stands for minus infinity: low enough that its exponential is 0, and finite, so that no row turns to NaN. */
const MASKED = -1e9;

/**
 * FlashAttention (2022): tiles of queries walk over tiles of keys up to the last that they may see, and each query keeps
 * of what it has passed a maximum, a sum and a weighted mean still to be divided by it (online softmax, 2018).
 *
 * A tile that a query may not see changes nothing of what it keeps, to the last bit, and tiles of keys begin at fixed
 * positions; so a token gets the same bits however its prompt is cut, and whoever shares its batch.
 */
export const flashAttention: AttentionKernel = (g, config, { positions, rectangle }, keys) => {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const shape = (...dims: readonly (Edge | number)[]) =>
    g.op(
      'Concat',
      dims.map((dim) => (typeof dim === 'number' ? g.int64([dim]) : dim)),
      { axis: 0 },
    );
  const tiling = queryTiling(g, rectangle, group === 1 ? 2 : 1);
  const { rows, tiles, size, tokens, places } = tiling;

  // The positions of each tile's tokens, `[tiles, rows, size]`, and of its queries as the scores have them.
  const tokenPositions = g.op('Reshape', [
    g.op('Gather', [g.op('Reshape', [positions, g.int64([-1])]), tokens]),
    shape(tiles, rows, size),
  ]);
  const perQuery = g.op('Expand', [g.op('Unsqueeze', [tokenPositions, g.int64([-1])]), g.int64([1, 1, 1, group])]);
  const queryPositions = g.op('Reshape', [perQuery, shape(tiles, rows, 1, -1, 1)]);
  const last = g.op('ReduceMax', [tokenPositions, g.int64([1, 2])], { keepdims: 0 });
  const keyTiles = g.op('Add', [g.op('Div', [last, g.int64(KEY_TILE)]), g.int64(1)]);
  const keyPositions = g.op('Range', [g.int64(0), keys, g.int64(1)]);

  const queries = g.op('Mul', [size, g.int64([group])]);
  const nothing = g.op('ConstantOfShape', [shape(rows, kvHeads, queries, 1)]);
  const noMax = g.op('Add', [nothing, g.float32(MASKED)]);
  const start = [noMax, nothing, g.op('ConstantOfShape', [shape(rows, kvHeads, queries, headDim)])];

  const ofTile = shape(rows, size, kvHeads, group, headDim);
  const folded = shape(rows, kvHeads, -1, headDim);
  const unfolded = shape(rows, kvHeads, size, group, headDim);
  const swapSizeAndKvHeads = { perm: [0, 2, 1, 3, 4] };
  const alpha = { float: 1 / Math.sqrt(headDim) };

  return (q, k, v) => {
    const [mixed] = g.loop(g.op('Squeeze', [tiles]), [], (tile) => {
      const fresh = g.op('Reshape', [g.op('Gather', [q, g.op('Gather', [tokens, tile])]), ofTile]);
      const query = g.op('Reshape', [g.op('Transpose', [fresh], swapSizeAndKvHeads), folded]);
      const position = g.op('Gather', [queryPositions, tile]);
      const [, sum, weighted] = g.loop(g.op('Gather', [keyTiles, tile]), start, (turn, max, sum, weighted) => {
        const from = g.op('Mul', [turn, g.int64([KEY_TILE])]);
        const to = g.op('Add', [from, g.int64([KEY_TILE])]);
        const cut = (x: Edge, axis: number) => g.op('Slice', [x, from, to, g.int64([axis])]);
        const visible = g.op('LessOrEqual', [cut(keyPositions, 0), position]);
        const products = g.microsoftOp('FusedMatMul', [query, cut(k, 2)], { transB: 1, alpha });
        const scores = g.op('Where', [visible, products, g.float32(MASKED)]);

        const newMax = g.op('Max', [max!, g.op('ReduceMax', [scores, g.int64([-1])])]);
        const rescale = g.op('Exp', [g.op('Sub', [max!, newMax])]);
        const weights = g.op('Exp', [g.op('Sub', [scores, newMax])]);
        const added = g.op('ReduceSum', [weights, g.int64([-1])]);
        const newSum = g.op('Add', [g.op('Mul', [sum!, rescale]), added]);
        const mixed = g.op('MatMul', [weights, cut(v, 2)]);
        return { state: [newMax, newSum, g.op('Add', [g.op('Mul', [weighted!, rescale]), mixed])] };
      });
      const mean = g.op('Reshape', [g.op('Div', [weighted!, sum!]), unfolded]);
      return { state: [], collected: [g.op('Transpose', [mean], swapSizeAndKvHeads)] };
    });
    return g.op('Gather', [g.op('Reshape', [mixed!, g.int64([-1, heads * headDim])]), places]);
  };
};

interface Tiling {
  /** All `[1]`: how many rows, tiles, and tokens of a row in a tile. */
  readonly rows: Edge;
  readonly tiles: Edge;
  readonly size: Edge;
  /** The flat index of each token of a tile, `[tiles, rows × size]`; what is left over repeats a row's last one. */
  readonly tokens: Edge;
  /** The way back: where each of `[rows × width]` lies in `[tiles × rows × size]`. */
  readonly places: Edge;
}

/** Tiles of equal size, for what comes out of them is stacked; with at least `least` tokens. `rectangle`: the shape `[rows, width]`. */
function queryTiling(g: OnnxBuilder, rectangle: Edge, least: number): Tiling {
  const one = g.int64([1]);
  const rows = g.op('Gather', [rectangle, g.int64([0])]);
  const width = g.op('Gather', [rectangle, one]);
  const ceilDiv = (a: Edge, b: Edge) => g.op('Div', [g.op('Add', [a, g.op('Sub', [b, one])]), b]);
  const tiles = ceilDiv(width, g.int64([QUERY_TILE]));
  const size = g.op('Max', [ceilDiv(width, tiles), g.int64([least])]);

  const upTo = (end: Edge) => g.op('Range', [g.int64(0), g.op('Squeeze', [end]), g.int64(1)]);
  const everyRow = g.op('Unsqueeze', [upTo(rows), g.int64([-1])]);
  const columns = g.op('Min', [upTo(g.op('Mul', [tiles, size])), g.op('Sub', [width, one])]);
  const byTile = g.op('Reshape', [columns, g.op('Concat', [tiles, one, size], { axis: 0 })]);
  const tokens = g.op('Add', [g.op('Mul', [everyRow, width]), byTile]);

  const column = upTo(width);
  const tile = g.op('Div', [column, size]);
  const inTile = g.op('Sub', [column, g.op('Mul', [tile, size])]);
  const firsts = g.op('Mul', [g.op('Add', [g.op('Mul', [tile, rows]), everyRow]), size]);
  return {
    rows,
    tiles,
    size,
    tokens: g.op('Reshape', [tokens, g.op('Concat', [tiles, g.int64([-1])], { axis: 0 })]),
    places: g.op('Reshape', [g.op('Add', [firsts, inTile]), g.int64([-1])]),
  };
}
