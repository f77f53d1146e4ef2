import type { GenerateResult } from '../../core/contracts/index.ts';

/** All that can be said of a request that ends before anything is known of it. */
export const ABORTED: GenerateResult = {
  text: '',
  outputIds: [],
  finishReason: 'abort',
  metrics: { throughput: 0, inputTokens: 0, outputTokens: 0, ttftMs: 0, tpotMs: 0 },
};
