/** SwiGLU: one projection decides how much of another goes through, dimension by dimension. Tokens do not meet here. */
import { GraphWeights, loadModel, OnnxBuilder, primitive } from 'rxllm';
import { args } from '../support/args.ts';
import { runGraph, show } from '../support/run-graph.ts';

const { weights, config } = await loadModel(args.model);
const gates = [-8, -4, -2, -1, 0, 1, 2, 4, 8];
const alone = new OnnxBuilder();
const dims = [gates.length];
const curve = primitive.swiglu(alone, alone.input('gate', 'float32', dims), alone.input('up', 'float32', dims));
const { through } = await runGraph(
  alone,
  { gate: { dims, data: gates }, up: { dims, data: gates.map(() => 1) } },
  { through: curve },
);
console.log('gate → how much of a 1 goes through');
for (const [index, gate] of gates.entries())
  console.log(`  ${String(gate).padStart(2)} → ${through.data[index]!.toFixed(3)}`);

const g = new OnnxBuilder();
const w = new GraphWeights(g, weights);
const x = g.input('x', 'float32', [1, config.hidden]);
const mlp = 'model.layers.0.mlp';
const gate = w.linear(x, `${mlp}.gate_proj`);
const up = w.linear(x, `${mlp}.up_proj`);
const product = primitive.swiglu(g, gate, up);
const down = w.linear(product, `${mlp}.down_proj`);
const input = { dims: [1, config.hidden], data: Array.from({ length: config.hidden }, (_, i) => Math.sin(i)) };
const out = await runGraph(g, { x: input }, { gate, up, product, down });
console.log(
  `\nlayer 0's, on one token\n  x        ${show(input)}\n  gate(x)  ${show(out.gate)}\n  up(x)    ${show(out.up)}`,
);
console.log(`  product  ${show(out.product)}\n  down     ${show(out.down)}   (added to x)`);
