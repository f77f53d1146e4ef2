import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import type { EngineContext } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { lookUp, promptLookup } from './prompt-lookup.ts';

describe('lookUp', () => {
  it('proposes what followed where the last tokens stood before', () => {
    expect(lookUp([1, 2, 3, 4, 5, 9, 2, 3], 2, 2, 4)).toEqual([4, 5]);
  });

  it('prefers the longest match, and of equal ones the latest', () => {
    expect(lookUp([1, 2, 3, 7, 0, 2, 3, 8, 1, 2, 3], 1, 2, 4)).toEqual([7]);
    expect(lookUp([2, 3, 7, 0, 2, 3, 8, 1, 2, 3], 1, 2, 4)).toEqual([8]);
    expect(lookUp([1, 2, 3, 7, 0, 2, 3, 8, 1, 2, 3], 1, 2, 2)).toEqual([8]);
  });

  it('needs as many tokens as minNgram', () => {
    expect(lookUp([1, 2, 5, 2], 3, 2, 4)).toEqual([]);
    expect(lookUp([1, 2, 5, 2], 3, 1, 4)).toEqual([5, 2, 5]);
    expect(lookUp([1], 3, 1, 4)).toEqual([]);
  });

  it('goes round in a cycle that reaches the end', () => {
    expect(lookUp([9, 1, 2, 1, 2, 1, 2], 5, 2, 4)).toEqual([1, 2, 1, 2, 1]);
  });
});

describe('promptLookup', () => {
  it('drafts for each sequence that has a match', async () => {
    const { propose } = promptLookup()({} as EngineContext);
    const drafts = await firstValueFrom(
      propose([
        { sequence: fakeSequence('a', { tokens: [1, 2, 3, 1, 2] }), count: 1 },
        { sequence: fakeSequence('b', { tokens: [1, 2, 3] }), count: 4 },
      ]),
    );
    expect([...drafts]).toEqual([['a', { tokens: [3] }]]);
  });

  it('refuses lengths that make no sense', () => {
    expect(() => promptLookup({ minNgram: 0 })).toThrow(RxllmError);
    expect(() => promptLookup({ minNgram: 3, maxNgram: 2 })).toThrow(/3 and 2/);
  });
});
