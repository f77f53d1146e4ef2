import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, prefillRow, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { Detokenized, EngineContext, Settled } from '../core/contracts/index.ts';
import { settle } from './settle.ts';

function run(context: EngineContext, step: Partial<Detokenized>): Settled {
  const seen: Settled[] = [];
  of(emptyStep(step))
    .pipe(settle()(context))
    .subscribe((settled) => seen.push(settled));
  return seen[0]!;
}

describe('settle', () => {
  it('advances lengths and tells of prompt progress and tokens', () => {
    const context = operatorContext(testScheduler());
    const part = runningSequence(context, { prompt: 'abcd' });
    const last = runningSequence(context, { prompt: 'abcd', computed: 2 });
    const { events } = run(context, {
      rows: [prefillRow(part, 2), prefillRow(last, 2)],
      produced: new Map([[last.id, [9]]]),
      text: new Map([[last.id, ['g']]]),
    });
    expect([part.computed, last.computed]).toEqual([2, 4]);
    expect(last.tokens).toEqual([...letters('abcd'), 9]);
    expect(last.text).toBe('g');
    expect([...events]).toEqual([
      ['s0', [{ type: 'prefill', computed: 2, cached: 0, total: 4 }]],
      [
        's1',
        [
          { type: 'prefill', computed: 4, cached: 0, total: 4 },
          { type: 'token', id: 9, text: 'g' },
        ],
      ],
    ]);
  });

  it('takes out what finished, gives its blocks back and tells the result', () => {
    const context = operatorContext(testScheduler());
    const sequence = runningSequence(context, { computed: 3, output: 'd' });
    context.kv.reserve(sequence, 1);
    sequence.text = 'd';
    sequence.finish = 'stop';
    const { events, ended } = run(context, {
      rows: [decodeRow(sequence)],
      produced: new Map([[sequence.id, [0]]]),
      text: new Map([[sequence.id, ['!']]]),
    });
    expect(events.get(sequence.id)).toEqual([
      { type: 'token', id: 0, text: '!' },
      {
        type: 'finished',
        result: {
          text: 'd!',
          outputIds: [...letters('d'), 0],
          finishReason: 'stop',
          metrics: { throughput: 0, inputTokens: 3, outputTokens: 2, ttftMs: 0, tpotMs: 0 },
        },
      },
    ]);
    expect(ended).toEqual([sequence]);
    expect([context.running, context.kv.used, sequence.phase]).toEqual([[], 0, 'finished']);
  });

  it('tells the end of what left before the step', () => {
    const context = operatorContext(testScheduler());
    const late = runningSequence(context);
    context.running.length = 0;
    late.finish = 'abort';
    const [event] = run(context, { ended: [late] }).events.get(late.id) ?? [];
    expect(event).toMatchObject({ type: 'finished', result: { finishReason: 'abort', outputIds: [] } });
  });

  it('drops what was cancelled during the step without a word, and gives its blocks back', () => {
    const context = operatorContext(testScheduler());
    const gone = runningSequence(context);
    context.kv.reserve(gone, 3);
    gone.phase = 'cancelled';
    expect([...run(context, { rows: [prefillRow(gone)] }).events]).toEqual([]);
    expect([context.running, context.kv.used]).toEqual([[], 0]);
  });

  it('leaves the last token of a late row to be computed again, once its mask is there', () => {
    const context = operatorContext(testScheduler());
    const prompt = runningSequence(context, { prompt: 'abcd' });
    const decoding = runningSequence(context, { prompt: 'abc', output: 'd', computed: 3 });
    const { events } = run(context, {
      rows: [prefillRow(prompt), decodeRow(decoding)],
      late: new Set([prompt.id, decoding.id]),
    });
    expect([prompt.computed, decoding.computed]).toEqual([3, 3]);
    expect([prompt.awaitsMask, decoding.awaitsMask]).toEqual([true, true]);
    expect([...events]).toEqual([
      [prompt.id, [{ type: 'prefill', computed: 3, cached: 0, total: 4 }]],
      [decoding.id, []],
    ]);
  });

  it('drops what failed without a word, and gives its blocks back', () => {
    const context = operatorContext(testScheduler());
    const sick = runningSequence(context);
    context.kv.reserve(sick, 3);
    const { events, ended } = run(context, { rows: [prefillRow(sick)], failed: new Map([[sick.id, new Error()]]) });
    expect([[...events], ended, context.running, context.kv.used]).toEqual([[], [], [], 0]);
  });

  it('puts preempted and deferred sequences in front of the queue, by arrival', () => {
    const context = operatorContext(testScheduler());
    const waiting = runningSequence(context);
    context.running.length = 0;
    context.waiting.push(waiting);
    const [victim, older, newcomer] = [3, 2, 4].map((arrivedAt) => ({ ...runningSequence(context), arrivedAt }));
    context.running.splice(0, 3, victim!, older!, newcomer!);
    older!.phase = 'paused';
    const { events } = run(context, { preempted: [victim!, older!], deferred: [newcomer!] });
    expect([...events]).toEqual([victim, older].map((sequence) => [sequence!.id, [{ type: 'preempted' }]]));
    expect(context.waiting).toEqual([older, victim, newcomer, waiting]);
    expect([victim, older, newcomer].map((sequence) => sequence?.phase)).toEqual(['waiting', 'paused', 'waiting']);
    expect(context.running).toEqual([]);
  });

  it('ends those that got a finish while they were preempted or deferred', () => {
    const context = operatorContext(testScheduler());
    const [victim, newcomer] = [runningSequence(context), runningSequence(context)];
    victim.finish = newcomer.finish = 'abort';
    const { events, ended } = run(context, { preempted: [victim], deferred: [newcomer] });
    expect(ended).toEqual([victim, newcomer]);
    expect([...events.values()].map(([event, ...more]) => [event?.type, more])).toEqual([
      ['finished', []],
      ['finished', []],
    ]);
    expect([context.running, context.waiting]).toEqual([[], []]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => settle()(operatorContext(scheduler)), emptyStep());
  });
});
