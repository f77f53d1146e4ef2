import { map } from 'rxjs';
import { describe, expectTypeOf, it } from 'vitest';
import type { Slot, StagedRecipe } from '../core/contracts/index.ts';
import { noCache } from '../core/memory/no-cache.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { prefill } from '../operators/prefill.ts';
import { sample } from '../operators/sample.ts';
import { settle } from '../operators/settle.ts';
import { kvCache } from './kv-cache.ts';
import { pipeSlots, swap } from './swap.ts';

describe('swap', () => {
  it('takes slots that fit', () => {
    expectTypeOf(swap(kvCache, { name: 'a', decode: decodeStep(), kv: noCache() })).toEqualTypeOf<StagedRecipe>();
    const twice = pipeSlots(decodeStep(), decodeStep());
    expectTypeOf(swap(kvCache, { name: 'a', decode: twice })).toEqualTypeOf<StagedRecipe>();
  });

  it('refuses a slot of the wrong kind', () => {
    // @ts-expect-error sample works on the computed step, not on the planned one
    swap(kvCache, { name: 'a', allocate: sample() });
    // @ts-expect-error prefill wants blocks that are allocated
    swap(kvCache, { name: 'a', schedule: prefill() });
    // @ts-expect-error an operator is no slot: a slot makes one for each engine
    swap(kvCache, { name: 'a', decode: map((step) => step) });
    // @ts-expect-error a stage is no allocator
    swap(kvCache, { name: 'a', kv: settle() });
    // @ts-expect-error there is no such slot
    swap(kvCache, { name: 'a', attention: decodeStep() });
    // @ts-expect-error a swapped recipe has a name of its own
    swap(kvCache, { decode: decodeStep() });
    const forgetful: Slot<number, string> = () => map(String);
    // @ts-expect-error the second wants what the first does not give
    pipeSlots(forgetful, decodeStep());
  });
});
