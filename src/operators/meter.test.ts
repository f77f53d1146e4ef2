import { map } from 'rxjs';
import { describe, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import type { Settled } from '../core/contracts/index.ts';
import { meter } from './meter.ts';
import { finished } from './settle.ts';

const NO_EVENTS: Settled = { ...emptyStep(), events: new Map() };

describe('meter', () => {
  it('measures from arrival to the first token, and from there to the last', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const context = operatorContext(scheduler);
      const sequence = runningSequence(context, { output: 'xyz' });
      const token: Settled = {
        ...NO_EVENTS,
        now: 3,
        rows: [decodeRow(sequence)],
        produced: new Map([[sequence.id, [3]]]),
      };
      const last: Settled = { ...token, ended: [sequence], events: new Map([[sequence.id, [finished(sequence)]]]) };
      const metrics = cold('----t-t---(l|)', { t: token, l: last }).pipe(
        meter()(context),
        map(({ events }) => [...events.values()].flat().map((e) => e.type === 'finished' && e.result.metrics)),
      );
      expectObservable(metrics).toBe('----t-t---(l|)', {
        t: [],
        l: [{ throughput: 300, inputTokens: 3, outputTokens: 3, ttftMs: 4, tpotMs: 3, queueMs: 3 }],
      });
    });
  });

  it('gives 0, not measured, to what ended without a token', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const context = operatorContext(scheduler);
      const sequence = runningSequence(context);
      const end: Settled = { ...NO_EVENTS, ended: [sequence], events: new Map([[sequence.id, [finished(sequence)]]]) };
      const metrics = cold('----(e|)', { e: end }).pipe(
        meter()(context),
        map(({ events }) => [...events.values()].flat().map((e) => e.type === 'finished' && e.result.metrics)),
      );
      expectObservable(metrics).toBe('----(e|)', {
        e: [{ throughput: 0, inputTokens: 3, outputTokens: 0, ttftMs: 0, tpotMs: 0 }],
      });
    });
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => meter()(operatorContext(scheduler)), NO_EVENTS);
  });
});
