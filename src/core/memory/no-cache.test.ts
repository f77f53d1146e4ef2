import { expect, test } from 'vitest';
import { fakeModel, fakeOptions, fakeSequence } from '../../../test/support/fakes.ts';
import { noCache } from './no-cache.ts';

test('there is always room, and nothing is ever given out', () => {
  const kv = noCache()(fakeModel(), fakeOptions({ maxModelLen: 100 }));
  const sequence = fakeSequence('a');
  expect(kv.pool).toEqual({ layout: 'none', blocks: 0, blockSize: 0 });
  expect(kv.maxSequenceTokens).toBe(100);
  expect(kv.reserve(sequence, 1_000_000)).toEqual({ blocks: [] });
  kv.truncate(sequence, 1);
  kv.publish(sequence);
  kv.free(sequence);
  kv.free(sequence);
  kv.checkInvariants();
  expect(kv.snapshot()).toEqual({ tables: new Map(), cached: [] });
  expect({ total: kv.total, used: kv.used, blocks: sequence.blocks }).toEqual({ total: 0, used: 0, blocks: [] });
});
