/** The same walk as ONNX runs it: a Loop whose body sees one tile of keys, and hands three tensors to its next turn. */
import { OnnxBuilder } from 'rxllm';
import { rowsOf, runGraph, show } from '../support/run-graph.ts';
import { textTable } from '../support/table.ts';

const [queries, keys, headDim, tile] = [2, 12, 4, 4];
const wave = (length: number, step: number) => Array.from({ length }, (_, i) => 2 * Math.sin(step * (i + 1)));

const g = new OnnxBuilder();
const q = g.input('q', 'float32', [queries, headDim]);
const k = g.input('k', 'float32', [keys, headDim]);
const v = g.input('v', 'float32', [keys, headDim]);
const nothing = g.op('ConstantOfShape', [g.int64([queries, 1])]);
const start = [g.op('Sub', [nothing, g.float32(1e9)]), nothing, g.op('ConstantOfShape', [g.int64([queries, headDim])])];

const [, sum, weighted, maxima, sums, tiles] = g.loop(g.int64(keys / tile), start, (turn, max, sum, weighted) => {
  const from = g.op('Mul', [turn, g.int64([tile])]);
  const cut = (x: string) => g.op('Slice', [x, from, g.op('Add', [from, g.int64([tile])]), g.int64([0])]);
  const scores = g.op('MatMul', [q, g.op('Transpose', [cut(k)], { perm: [1, 0] })]);
  const newMax = g.op('Max', [max!, g.op('ReduceMax', [scores, g.int64([-1])])]);
  const rescale = g.op('Exp', [g.op('Sub', [max!, newMax])]);
  const weights = g.op('Exp', [g.op('Sub', [scores, newMax])]);
  const newSum = g.op('Add', [g.op('Mul', [sum!, rescale]), g.op('ReduceSum', [weights, g.int64([-1])])]);
  const newWeighted = g.op('Add', [g.op('Mul', [weighted!, rescale]), g.op('MatMul', [weights, cut(v)])]);
  // `state` goes into the next turn; `collected` is stacked, for us to look at.
  return { state: [newMax, newSum, newWeighted], collected: [newMax, newSum, scores] };
});
const mixed = g.op('Div', [weighted!, sum!]);

const scores = g.op('MatMul', [q, g.op('Transpose', [k], { perm: [1, 0] })]);
const naive = g.op('MatMul', [g.op('Softmax', [scores], { axis: -1 }), v]);

const out = await runGraph(
  g,
  {
    q: { dims: [queries, headDim], data: wave(queries * headDim, 0.7) },
    k: { dims: [keys, headDim], data: wave(keys * headDim, 1.3) },
    v: { dims: [keys, headDim], data: wave(keys * headDim, 0.4) },
  },
  { mixed, naive, scores, maxima: maxima!, sums: sums!, tiles: tiles! },
);
console.log(
  `scores, whole  [${out.scores.dims}]; a tile of them [${out.tiles.dims.slice(1)}], ${out.tiles.dims[0]} times\n`,
);
const turns = rowsOf({ dims: [keys / tile, queries], data: out.maxima.data });
const rows = turns.map((row, turn) => [
  turn,
  ...row.map((max) => Number(max.toFixed(3))),
  ...out.sums.data.slice(turn * queries, (turn + 1) * queries).map((value) => Number(value.toFixed(3))),
]);
console.log(textTable(['turn', 'max of query 0', 'of query 1', 'sum of query 0', 'of query 1'], rows));
console.log(`\nby tiles  ${show(out.mixed)}\nat once   ${show(out.naive)}`);
const difference = Math.max(...out.mixed.data.map((value, i) => Math.abs(value - out.naive.data[i]!)));
console.log(`they differ by ${difference < 1e-6 ? 'less than 1e-6' : difference}`);
