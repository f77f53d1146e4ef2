import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { staticBatching } from '../core/scheduling/static-batching.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { schedule } from '../operators/schedule.ts';
import { kvCache } from './kv-cache.ts';
import { swap } from './swap.ts';

/** Chapter 5: several requests share each step, and the batch ends when its last one does. */
export const staticBatch = swap(kvCache, {
  name: 'static-batching',
  kv: contiguousSlots(),
  schedule: schedule(staticBatching()),
  decode: decodeStep({ keepsBatch: true }),
});
