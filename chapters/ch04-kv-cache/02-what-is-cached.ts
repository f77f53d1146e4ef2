/** What is cached, and how many bytes: a key and a value for each token, in each layer, for each key and value head. */
import { kvBytesPerToken, loadModel, type ModelConfig } from 'rxllm';
import { args } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const { config, name } = await loadModel(args.model);
const { layers, kvHeads, headDim, heads, maxPositions } = config;

console.log(
  `${name}: 2 (key, value) × ${layers} layers × ${kvHeads} heads × ${headDim} × 4 bytes = ${kvBytesPerToken(config)} bytes a token`,
);
console.log(`A pool part, keys or values of a layer: [blocks, ${kvHeads}, tokens a block, ${headDim}]\n`);

type Shape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>;
const shapes: readonly (readonly [string, Shape, context: number])[] = [
  [name, config, maxPositions],
  [`${name} without shared heads`, { layers, kvHeads: heads, headDim }, maxPositions],
  ['SmolLM2-135M', { layers: 30, kvHeads: 3, headDim: 64 }, 8192],
  ['Llama 3.1 8B', { layers: 32, kvHeads: 8, headDim: 128 }, 8192],
];
console.log(
  textTable(
    ['shape, float32', 'KiB a token', 'tokens', 'MiB a sequence'],
    shapes.map(([label, shape, context]) => {
      const bytes = kvBytesPerToken({ ...config, ...shape });
      return [label, bytes / 1024, context, (bytes * context) / 2 ** 20];
    }),
  ),
);
console.log('\nA query is used once and forgotten; the logits of earlier tokens are never asked for again.');
