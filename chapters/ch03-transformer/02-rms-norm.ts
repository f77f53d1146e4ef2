/** RMSNorm: every vector is brought to one length, whatever its own was; only its direction goes on. */
import { GraphWeights, loadModel, OnnxBuilder, primitive } from 'rxllm';
import { args } from '../support/args.ts';
import { length, rowsOf, runGraph, show } from '../support/run-graph.ts';

const { weights, config } = await loadModel(args.model);
const size = config.hidden;
const wave = Array.from({ length: size }, (_, i) => Math.sin(i));
const x = { dims: [3, size], data: [...wave, ...wave.map((value) => 100 * value), ...wave.map((value) => -value)] };

const g = new OnnxBuilder();
const input = g.input('x', 'float32', [3, size]);
const plain = primitive.rmsNorm(g, input, g.tensor('ones', [size], new Float32Array(size).fill(1)), config.normEps);
const learned = new GraphWeights(g, weights).tensor('model.layers.0.input_layernorm.weight');
const scaled = primitive.rmsNorm(g, input, learned, config.normEps);
const outputs = await runGraph(g, { x }, { plain, scaled, learned: g.op('Identity', [learned]) });

const lengths = (tensor: { dims: readonly number[]; data: readonly number[] }) =>
  rowsOf(tensor)
    .map((row) => length(row).toFixed(2).padStart(9))
    .join('');
console.log(
  `x        ${show(x)}\nnormed   ${show(outputs.plain)}\nweight   ${show(outputs.learned)}\nscaled   ${show(outputs.scaled)}\n`,
);
console.log('lengths of the rows: a wave, the same 100 times as large, the same turned round');
console.log(`  before ${lengths(x)}\n  after  ${lengths(outputs.plain)}   (√${size} = ${Math.sqrt(size).toFixed(2)})`);
