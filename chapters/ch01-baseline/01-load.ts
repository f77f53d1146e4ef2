/** What loading a model is: which files are read, how many numbers are in them, and how long it takes. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { loadModel, prebuilt, stock, type WeightLocation } from 'rxllm';
import { args } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const timed = async <T>(work: () => Promise<T>): Promise<[T, string]> => {
  const start = performance.now();
  const result = await work();
  return [result, `${(performance.now() - start).toFixed(0)} ms`];
};
const elements = ({ shape }: WeightLocation) => shape.reduce((product, size) => product * size, 1);

const [model, readTime] = await timed(() => loadModel(args.model));
const { config, tokenizer } = model;
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const [runner, sessionTime] = await timed(() => stock()(prebuilt()(model, 'none'), model, pool));

const weights = [...model.weights.values()];
const parameters = weights.reduce((sum, weight) => sum + elements(weight), 0);
const stored = weights.reduce((sum, { length }) => sum + length, 0);
const files = ['config.json', 'tokenizer.json', 'model.onnx', ...new Set(weights.map(({ file }) => file))];
const inM = (count: number) => `${(count / 1e6).toFixed(1)}M`;
const inMB = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

console.log(
  textTable(
    ['file', 'size'],
    files.map((file) => [file, inMB(statSync(join(args.model, file)).size)]),
  ),
);
console.log(`
  layers        ${config.layers}, of ${config.heads} query heads and ${config.kvHeads} key and value heads
  hidden size   ${config.hidden}, vocabulary ${config.vocab}, at most ${config.maxPositions} tokens
  parameters    ${inM(parameters)} in ${weights.length} tensors, ${inM(config.vocab * config.hidden)} of them the embedding
  dtype         ${[...new Set(weights.map(({ dtype }) => dtype))].join(', ')}: ${inMB(stored)} stored, ${inMB(parameters * 4)} in memory as float32
  reading       ${readTime} (config, tokenizer, the index of the weights)
  session       ${sessionTime} (the graph, and the weights themselves)`);

const text = 'Hello, world!';
const ids = tokenizer.encode(text);
console.log(`
  text          ${JSON.stringify(text)}
  token ids     ${ids.join(', ')}
  pieces        ${ids.map((id) => JSON.stringify(tokenizer.tokenText(id))).join(' ')}
  decoded       ${JSON.stringify(tokenizer.decode(ids))}`);
await runner.dispose();
