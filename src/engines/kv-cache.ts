import type { StagedRecipe } from '../core/contracts/index.ts';
import { llama } from '../core/graph/llama-graph.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { autoRuntime } from '../core/runtime/auto-runtime.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import { allocateBlocks } from '../operators/allocate-blocks.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { detokenize } from '../operators/detokenize.ts';
import { meter } from '../operators/meter.ts';
import { prefill } from '../operators/prefill.ts';
import { sample } from '../operators/sample.ts';
import { schedule } from '../operators/schedule.ts';
import { settle } from '../operators/settle.ts';
import { stopOn } from '../operators/stop-on.ts';
import { tokenize } from '../operators/tokenize.ts';

/** Chapter 4: one request at a time over a cache that each step writes in place. */
export const kvCache: StagedRecipe = {
  kind: 'staged',
  name: 'kv-cache',
  exact: true,
  model: llama(),
  runtime: autoRuntime(),
  kv: contiguousSlots({ slots: 1 }),
  tokenize: tokenize(),
  schedule: schedule(oneAtATime({ prefillChunk: 512 })),
  allocate: allocateBlocks(),
  prefill: prefill(),
  decode: decodeStep(),
  sample: sample(),
  detokenize: detokenize(),
  stop: stopOn(),
  settle: settle(),
  meter: meter(),
  observers: [],
};
