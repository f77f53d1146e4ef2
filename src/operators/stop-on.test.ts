import { from, map } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { Detokenized, SamplingParams, Sequence } from '../core/contracts/index.ts';
import { stopOn } from './stop-on.ts';

const EOS = 0;

/** Sends the steps' tokens (a string a step, `.` for the end token) through one `stopOn`, as settle would apply them. */
function run(params: Partial<SamplingParams>, steps: readonly string[], flushed = '') {
  const context = operatorContext(testScheduler());
  const sequence: Sequence = {
    ...runningSequence(context, { params }),
    decoder: { push: () => '', flush: () => flushed },
  };
  const shown: (readonly string[])[] = [];
  const ids: number[] = [];
  from(steps)
    .pipe(
      map((text): Detokenized => {
        const produced = [...text].map((letter) => (letter === '.' ? EOS : letters(letter)[0]!));
        const words = [...text].map((letter) => (letter === '.' ? '' : letter));
        return emptyStep({
          rows: [decodeRow(sequence)],
          produced: new Map([[sequence.id, produced]]),
          text: new Map([[sequence.id, words]]),
        });
      }),
      stopOn()(context),
    )
    .subscribe((step) => {
      shown.push(step.text.get(sequence.id) ?? []);
      const kept = step.produced.get(sequence.id) ?? [];
      ids.push(...kept);
      sequence.tokens.push(...kept);
    });
  return { shown, text: shown.flat().join(''), ids, finish: sequence.finish };
}

describe('stopOn', () => {
  it('lets text through while nothing ends it', () => {
    expect(run({}, ['a', 'b'])).toEqual({ shown: [['a'], ['b']], text: 'ab', ids: letters('ab'), finish: undefined });
  });

  it('holds text back while it may still become a stop string, and drops the stop string', () => {
    expect(run({ stop: ['cde'] }, ['a', 'c', 'd', 'x', 'c', 'd', 'e'])).toMatchObject({
      shown: [['a'], [''], [''], ['cdx'], [''], [''], ['']],
      ids: letters('acdxcde'),
      finish: 'stop',
    });
  });

  it('ends at an end token, shows what was held back, and keeps the id', () => {
    expect(run({ stop: ['bc'] }, ['a', 'b', '.'], '?')).toEqual({
      shown: [['a'], [''], ['b?']],
      text: 'ab?',
      ids: [...letters('ab'), EOS],
      finish: 'stop',
    });
  });

  it('goes on past an end token when told to', () => {
    expect(run({ ignoreEos: true }, ['a', '.', 'b'])).toMatchObject({ text: 'ab', finish: undefined });
  });

  it('ends at a stop token id', () => {
    expect(run({ stopTokenIds: letters('b') }, ['a', 'b'])).toMatchObject({ ids: letters('ab'), finish: 'stop' });
  });

  it('ends at maxTokens and flushes half a character once', () => {
    expect(run({ maxTokens: 2 }, ['a', 'b'], '\uFFFD')).toMatchObject({
      shown: [['a'], ['b\uFFFD']],
      finish: 'length',
    });
  });

  it('ends at the end of the context', () => {
    const { ids, finish } = run(
      {},
      Array.from({ length: 61 }, () => 'a'),
    );
    expect([ids.length, finish]).toEqual([61, 'length']);
  });

  it.each([
    ['a stop string', { stop: ['bc'] }, 'abcd', 'abc', 'a'],
    ['an end token', {}, 'ab.d', 'ab.', 'ab'],
    ['maxTokens', { maxTokens: 2 }, 'abcd', 'ab', 'ab'],
  ])('cuts several tokens of one step at %s', (_, params, produced, kept, text) => {
    const seen = run(params, [produced]);
    expect(seen.ids).toEqual([...kept].map((letter) => (letter === '.' ? EOS : letters(letter)[0])));
    expect(seen.text).toBe(text);
  });

  it('does not look for stop strings before minTokens', () => {
    expect(run({ stop: ['a'], minTokens: 3 }, ['a', 'a', 'b', 'a'])).toMatchObject({ text: 'aab', finish: 'stop' });
  });

  it('keeps a finish that came first', () => {
    const context = operatorContext(testScheduler());
    const sequence = runningSequence(context);
    sequence.finish = 'abort';
    from([
      emptyStep({
        rows: [decodeRow(sequence)],
        produced: new Map([[sequence.id, [EOS]]]),
        text: new Map([[sequence.id, ['']]]),
      }),
    ])
      .pipe(stopOn()(context))
      .subscribe();
    expect(sequence.finish).toBe('abort');
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => stopOn()(operatorContext(scheduler)), emptyStep());
  });
});
