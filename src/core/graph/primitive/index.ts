export { attention, causalMask } from './attention.ts';
export { embedding } from './embedding.ts';
export { rmsNorm } from './rms-norm.ts';
export { rope } from './rope.ts';
export { selfAttention } from './self-attention.ts';
export { swiglu } from './swiglu.ts';
