import type { StagedRecipe } from '../core/contracts/index.ts';
import { prebuilt } from '../core/graph/prebuilt.ts';
import { noCache } from '../core/memory/no-cache.ts';
import { stock } from '../core/runtime/stock-runner.ts';
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

/** Chapter 2: the box opened into stages. They do the same work as the box: each step runs the whole sequence again. */
export const generateLoop: StagedRecipe = {
  kind: 'staged',
  name: 'generate-loop',
  exact: true,
  model: prebuilt(),
  runtime: stock(),
  kv: noCache(),
  tokenize: tokenize(),
  schedule: schedule(oneAtATime()),
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
