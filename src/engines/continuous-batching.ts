import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { schedule } from '../operators/schedule.ts';
import { staticBatch } from './static-batching.ts';
import { swap } from './swap.ts';

/** Chapter 9: every step is planned anew, so that who ends leaves and who arrives joins at once. */
export const continuous = swap(staticBatch, {
  name: 'continuous-batching',
  schedule: schedule(continuousBatching()),
  decode: decodeStep(),
});
