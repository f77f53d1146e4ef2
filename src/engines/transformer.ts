import { primitives } from '../core/graph/primitive/transformer.ts';
import { generateLoop } from './generate-loop.ts';
import { swap } from './swap.ts';

/** Chapter 3: the graph is our own, written op by op from `config.json` and the safetensors. */
export const transformer = swap(generateLoop, { name: 'transformer', model: primitives() });
