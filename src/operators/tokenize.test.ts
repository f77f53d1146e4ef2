import { map, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { operatorContext } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { GenerateRequest } from '../core/contracts/index.ts';
import { tokenize } from './tokenize.ts';

const tokensOf = (request: GenerateRequest) => {
  let tokens: readonly number[] = [];
  of(request)
    .pipe(tokenize()(operatorContext(testScheduler())))
    .subscribe((sequence) => {
      tokens = sequence.tokens;
    });
  return tokens;
};

describe('tokenize', () => {
  it('makes a waiting sequence of text, token ids and messages', () => {
    expect(tokensOf({ prompt: 'abc' })).toEqual(letters('abc'));
    expect(tokensOf({ prompt: [5, 6] })).toEqual([5, 6]);
    expect(
      tokensOf({
        prompt: [
          { role: 'system', content: 'ab' },
          { role: 'user', content: 'cd' },
        ],
      }),
    ).toEqual(letters('abcd'));
  });

  it('emits at the moment of arrival, under the id of the request or a new one', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const arrivals = cold<GenerateRequest>('--a-b|', { a: { prompt: 'a' }, b: { prompt: 'b', id: 'mine' } });
      const sequences = arrivals.pipe(
        tokenize()(operatorContext(scheduler)),
        map(({ id, arrivedAt, phase, computed }) => ({ id, arrivedAt, phase, computed })),
      );
      expectObservable(sequences).toBe('--a-b|', {
        a: { id: 's0', arrivedAt: 2, phase: 'waiting', computed: 0 },
        b: { id: 'mine', arrivedAt: 4, phase: 'waiting', computed: 0 },
      });
    });
  });

  it.each([
    ['no tokens', { prompt: '' }, 'RXLLM_INVALID_REQUEST', /no tokens/],
    ['an id outside the vocabulary', { prompt: [3, 32] }, 'RXLLM_INVALID_REQUEST', /32.*0 to 31/],
    ['an id that is no whole number', { prompt: [3.5] }, 'RXLLM_INVALID_REQUEST', /3\.5/],
    ['a prompt as long as the context', { prompt: 'a'.repeat(64) }, 'RXLLM_CONTEXT_LENGTH_EXCEEDED', /64 tokens.*64/],
    ['a parameter out of range', { prompt: 'a', params: { topP: 2 } }, 'RXLLM_INVALID_REQUEST', /top_?p/i],
    ['what the template refuses', { prompt: [{ role: 'tool', content: '' }] }, 'RXLLM_CHAT_TEMPLATE_FAILED', /tools/],
  ] satisfies [string, GenerateRequest, string, RegExp][])('errors on %s', (_, request, code, message) => {
    const errors: unknown[] = [];
    of(request)
      .pipe(tokenize()(operatorContext(testScheduler())))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toEqual([expect.objectContaining({ code, message: expect.stringMatching(message) })]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => tokenize()(operatorContext(scheduler)), { prompt: 'a' });
  });
});
