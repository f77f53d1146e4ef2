/** Embedding: a token id picks a row of a table. What is alike lies in like directions. */
import { GraphWeights, loadModel, OnnxBuilder, primitive } from 'rxllm';
import { args } from '../support/args.ts';
import { dot, length, rowsOf, runGraph, show } from '../support/run-graph.ts';

const { tokenizer, weights, config } = await loadModel(args.model);
const words = ['fox', 'wolf', 'dog', 'red', 'blue', 'ran'];
const ids = words.map((word) => tokenizer.encode(` ${word}`).at(-1)!);

const g = new OnnxBuilder();
const table = new GraphWeights(g, weights).tensor('model.embed_tokens.weight');
const embedded = primitive.embedding(g, g.input('ids', 'int64', ['tokens']), table);
const { hidden } = await runGraph(g, { ids: { dims: [ids.length], data: ids, int64: true } }, { hidden: embedded });

console.log(
  `table   [${config.vocab}, ${config.hidden}]\nids     [${ids.length}]  ${ids.join(' ')}\nhidden  ${show(hidden)}\n`,
);

const vectors = rowsOf(hidden);
const cosine = (a: readonly number[], b: readonly number[]) => dot(a, b) / (length(a) * length(b));
console.log(`cosine  ${words.map((word) => word.padStart(6)).join('')}`);
for (const [index, word] of words.entries()) {
  const row = vectors.map((other) => cosine(vectors[index]!, other).toFixed(2).padStart(6));
  console.log(`${word.padEnd(8)}${row.join('')}`);
}
