/** Attention: each token looks back, weighs what it sees, and takes the weighted mean. Heads share keys and values. */
import { type Edge, loadModel, OnnxBuilder, primitive } from 'rxllm';
import { args } from '../support/args.ts';
import { rowsOf, runGraph, show } from '../support/run-graph.ts';

const { config } = await loadModel(args.model);
const [kvHeads, group, width, headDim] = [1, 2, 5, 5];

// Each key points its own way; every query asks for the key before its own, in head 1 twice as loudly as in head 0.
const key = (at: number) => Array.from({ length: headDim }, (_, i) => (i === at ? 2 : 0));
const positions = [...Array(width).keys()];
const keys = positions.map(key);
const queries = [1, 2].flatMap((loud) => positions.flatMap((at) => key(Math.max(0, at - 1)).map((x) => loud * x)));
const values = positions.flatMap((at) => Array(headDim).fill(at));

const g = new OnnxBuilder();
const q = g.input('q', 'float32', [1, kvHeads, group, width, headDim]);
const [k, v] = ['k', 'v'].map((name) => g.input(name, 'float32', [1, kvHeads, 1, width, headDim])) as [Edge, Edge];
const mask = primitive.causalMask(g, g.input('positions', 'int64', [1, width]), g.int64(width));
const mixed = primitive.attention(g, q, k, v, mask, headDim);
// The unit vectors as values give the weights themselves.
const unit = g.tensor(
  'unit',
  [1, 1, 1, width, width],
  Float32Array.from({ length: width * width }, (_, i) => (i % (width + 1) === 0 ? 1 : 0)),
);
const weights = primitive.attention(g, q, k, unit, mask, headDim);
const out = await runGraph(
  g,
  {
    q: { dims: [1, kvHeads, group, width, headDim], data: queries },
    k: { dims: [1, kvHeads, 1, width, headDim], data: keys.flat() },
    v: { dims: [1, kvHeads, 1, width, headDim], data: values },
    positions: { dims: [1, width], data: positions, int64: true },
  },
  { mixed, weights },
);

console.log(
  `q [1, ${kvHeads}, ${group}, ${width}, ${headDim}], k and v [1, ${kvHeads}, 1, ${width}, ${headDim}]: ${group} query heads on one key head`,
);
console.log(`(in this model ${config.heads} query heads share ${config.kvHeads})\n\nmixed ${show(out.mixed)}`);
for (const [row, weightsOf] of rowsOf(out.weights).entries()) {
  if (row % width === 0)
    console.log(
      `\nquery head ${row / width}: what each token (row) takes from each (column); none from those after it`,
    );
  console.log(`  ${weightsOf.map((weight) => (weight === 0 ? '.' : weight.toFixed(2)).padStart(6)).join('')}`);
}
