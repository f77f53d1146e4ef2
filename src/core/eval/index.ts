export { type Divergence, divergence } from './divergence.ts';
export { type Perplexity, perplexity } from './perplexity.ts';
export { windowPool, windowsOf } from './window-logits.ts';
