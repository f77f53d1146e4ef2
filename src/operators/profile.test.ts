import { concatMap, delay, type Observable, of, timer } from 'rxjs';
import type { TestScheduler } from 'rxjs/testing';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import type { Logits, RuntimeSlot } from '../core/contracts/index.ts';
import { profile } from './profile.ts';

const line = (stage: string, items: number, totalMs: number, selfMs = totalMs) => ({ stage, items, totalMs, selfMs });
const within = (stage: string, name: string, items: number, totalMs: number, selfMs = totalMs) => ({
  ...line(name, items, totalMs, selfMs),
  within: stage,
});

/** A runner whose passes take so many frames. */
const slow =
  (frames: number, scheduler: TestScheduler): RuntimeSlot =>
  async () => ({
    ...operatorContext(scheduler).runner,
    forward: () => of({} as Logits).pipe(delay(frames, scheduler)),
  });

describe('profile', () => {
  it('gives each stage the time between what passed before it and what passed behind it, and the loop the rest', () => {
    const scheduler = testScheduler();
    const { observer, stages } = profile();
    scheduler.run(({ cold }) => {
      const context = operatorContext(scheduler);
      const busy = emptyStep({ rows: [decodeRow(runningSequence(context))] });
      cold('a----b--(c|)', {
        a: { ...busy, index: 0, now: 0 },
        b: { ...emptyStep(), index: 1, now: 5 },
        c: { ...busy, index: 2, now: 8 },
      })
        .pipe(observer(context, 'schedule'), delay(2), observer(context, 'prefill'), observer(context, 'decode'))
        .subscribe();
    });
    expect(stages()).toEqual([
      line('schedule', 3, 0),
      line('prefill', 3, 6),
      line('decode', 3, 0),
      line('between steps', 1, 3),
      line('asleep', 1, 1),
    ]);
  });

  it('stands between any two operators', () => {
    const scheduler = testScheduler();
    const { stage, start, stages } = profile(scheduler);
    scheduler.run(({ cold, expectObservable }) => {
      start();
      const result = cold('--a|').pipe(stage('source'), delay(3), stage('delay'), stage('nothing'));
      expectObservable(result).toBe('-----(a|)');
    });
    expect(stages()).toEqual([line('source', 1, 2), line('delay', 1, 3), line('nothing', 1, 0)]);
  });

  it('counts a forward pass within the stage that asked for it, and an arrival in its midst apart', async () => {
    const scheduler = testScheduler();
    const { runtime, stage, timed, start, stages } = profile(scheduler);
    const passes: number[] = [];
    const slot = runtime(slow(6, scheduler), { ended: (_, ms) => passes.push(ms) });
    const runner = await slot(...([] as unknown as Parameters<RuntimeSlot>));
    scheduler.run(({ cold }) => {
      start();
      const pass = (frames: number) =>
        concatMap(() => timer(frames, scheduler).pipe(concatMap(() => runner.forward({} as never))));
      cold('a|').pipe(stage('source'), pass(1), delay(2), stage('prefill')).subscribe();
      cold('---r|')
        .pipe(timed('tokenize', delay(2)))
        .subscribe();
    });
    // Of the six frames of the pass two were the arrival's.
    expect(stages()).toEqual([
      line('source', 1, 0),
      line('tokenize', 1, 2),
      line('prefill', 1, 9, 3),
      within('prefill', 'forward pass', 1, 6, 4),
    ]);
    expect(passes).toEqual([6]);
  });

  it('lets nothing go on when its reader has gone', async () => {
    const scheduler = testScheduler();
    const { runtime, stage, timed, start, stages } = profile(scheduler);
    const runner = await runtime(slow(9, scheduler))(...([] as unknown as Parameters<RuntimeSlot>));
    scheduler.run(({ cold, expectSubscriptions, expectObservable }) => {
      start();
      const source = cold('a---');
      const late = source.pipe(
        timed('slow', delay(9)),
        concatMap(() => runner.forward({} as never)),
      );
      expectObservable(late as Observable<unknown>, '^--!').toBe('----');
      expectSubscriptions(source.subscriptions).toBe('^--!');
      expectObservable(runner.forward({} as never), '^---!').toBe('-----');
      cold('-----b|').pipe(stage('after')).subscribe();
    });
    expect(
      stages()
        .map(({ selfMs }) => selfMs)
        .reduce((a, b) => a + b),
    ).toBe(5);
    expect(stages().find(({ stage }) => stage === 'slow')).toMatchObject({ items: 1, totalMs: 3 });
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => profile().observer(operatorContext(scheduler), 'sample'), emptyStep());
    expectWellBehaved(() => profile().stage('any'), 1);
    expectWellBehaved(() => profile().timed('any', delay(0)), 1);
  });
});
