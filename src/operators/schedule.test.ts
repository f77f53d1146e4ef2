import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { anyToken } from '../../test/support/slow-matcher.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { EngineContext, Planned } from '../core/contracts/index.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import { schedule } from './schedule.ts';
import { createSequence } from './tokenize.ts';

function plan(context: EngineContext, policy = oneAtATime({ prefillChunk: 2 })): Planned {
  let planned: Planned | undefined;
  of({ index: 7, now: 1 })
    .pipe(schedule(policy)(context))
    .subscribe((step) => {
      planned = step;
    });
  return planned!;
}

const arrive = (context: EngineContext, prompt = 'abc') => {
  const sequence = createSequence({ prompt }, letters(prompt), context);
  context.waiting.push(sequence);
  return sequence;
};

describe('schedule', () => {
  it('gives an empty plan when nothing waits', () => {
    expect(plan(operatorContext(testScheduler()))).toEqual({
      index: 7,
      now: 1,
      rows: [],
      preempted: [],
      ended: [],
      wakeAt: Number.POSITIVE_INFINITY,
    });
  });

  it('admits what the policy admits and keeps the rest waiting', () => {
    const context = operatorContext(testScheduler());
    const [first, second] = [arrive(context), arrive(context)];
    expect(plan(context).rows).toEqual([{ sequence: first, kind: 'prefill', newTokens: 2 }]);
    expect(context.running).toEqual([first]);
    expect(context.waiting).toEqual([second]);
    expect([first.phase, second.phase]).toEqual(['running', 'waiting']);
  });

  it('plans the last chunk, then decode', () => {
    const context = operatorContext(testScheduler());
    const sequence = runningSequence(context, { computed: 2 });
    expect(plan(context).rows).toEqual([{ sequence, kind: 'prefill', newTokens: 1 }]);
    sequence.computed = 3;
    sequence.tokens.push(9);
    expect(plan(context).rows).toEqual([{ sequence, kind: 'decode', newTokens: 1 }]);
  });

  it('plans nothing for a sequence that awaits its mask, until that is there', () => {
    const context = operatorContext(testScheduler());
    const late = { ...runningSequence(context), grammar: { ...anyToken(), isReady: false }, awaitsMask: true };
    context.running.splice(0, 1, late);
    expect(plan(context).rows).toEqual([]);
    late.grammar.isReady = true;
    expect(plan(context).rows).toEqual([{ sequence: late, kind: 'prefill', newTokens: 2 }]);
    expect(late.awaitsMask).toBe(false);
  });

  it('sweeps out what was cancelled between two steps, gives its blocks back and goes on with the next', () => {
    const context = operatorContext(testScheduler());
    const gone = runningSequence(context);
    context.kv.reserve(gone, 3);
    gone.phase = 'cancelled';
    const next = arrive(context);
    expect(plan(context).rows.map(({ sequence }) => sequence)).toEqual([next]);
    expect(context.kv.used).toBe(0);
    expect(context.running).toEqual([next]);
  });

  it('reports what a deadline ended', () => {
    const context = operatorContext(testScheduler());
    const late = runningSequence(context);
    late.finish = 'abort';
    expect(plan(context)).toMatchObject({ rows: [], ended: [late] });
    expect(late.phase).toBe('finished');
  });

  it('gives a paused sequence no row, and takes its blocks once its reader has been behind for too long', () => {
    const context = operatorContext(testScheduler());
    const behind = runningSequence(context, { computed: 2 });
    context.kv.reserve(behind, 1);
    Object.assign(behind, { phase: 'paused', pausedAt: -50 });
    expect(plan(context)).toMatchObject({ rows: [], preempted: [], wakeAt: 50 });
    expect(context.kv.used).toBe(1);
    behind.pausedAt = -99;
    expect(plan(context)).toMatchObject({ rows: [], preempted: [behind], wakeAt: Number.POSITIVE_INFINITY });
    expect(behind).toMatchObject({ computed: 0, phase: 'paused', blocks: [] });
    expect(context.kv.used).toBe(0);
  });

  it('turns a policy that throws into an error', () => {
    const errors: unknown[] = [];
    const broken = () => {
      throw new Error('no plan');
    };
    of({ index: 0, now: 0 })
      .pipe(schedule(broken)(operatorContext(testScheduler())))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toEqual([new Error('no plan')]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => schedule(oneAtATime())(operatorContext(scheduler)), { index: 0, now: 0 });
  });
});
