import { of, Subject, take } from 'rxjs';
import { expect, it } from 'vitest';
import { fakeOptions } from '../../test/support/fakes.ts';
import { inTurns } from './in-turns.ts';

/** Work that takes as many milliseconds as its value, on a clock of its own, and a turn that ends when it is told to. */
function setUp() {
  let now = 0;
  const turn$ = new Subject<void>();
  const clock = { now: () => now, schedule: fakeOptions().clock.schedule };
  const done: number[] = [];
  const work = inTurns(
    (ms: number) => {
      if (ms < 0) throw new RangeError('no time');
      now += ms;
      return ms;
    },
    { clock, betweenSteps: () => turn$.pipe(take(1)) },
  );
  const ask = (ms: number) =>
    of(ms)
      .pipe(work)
      .subscribe({ next: (value) => done.push(value), error: () => done.push(-1) });
  return { ask, done, nextTurn: () => turn$.next(), turn$ };
}

it('does what takes no time at once, and never waits for a turn', () => {
  const { ask, done, turn$ } = setUp();
  for (let i = 0; i < 100; i++) ask(0);
  expect(done).toHaveLength(100);
  expect(turn$.observed).toBe(false);
});

it('shares a turn until it is used up; the rest waits, in order', () => {
  const { ask, done, nextTurn } = setUp();
  for (const ms of [1, 2, 3, 10, 5, 1, 1, 0]) ask(ms);
  expect(done).toEqual([1, 2, 3]);
  nextTurn();
  expect(done).toEqual([1, 2, 3, 10]);
  ask(7);
  nextTurn();
  expect(done).toEqual([1, 2, 3, 10, 5]);
  nextTurn();
  expect(done).toEqual([1, 2, 3, 10, 5, 1, 1, 0, 7]);
  nextTurn();
  ask(1);
  expect(done.at(-1)).toBe(1);
});

it('forgets what is cancelled while it waits, and goes on behind an error', () => {
  const { ask, done, nextTurn } = setUp();
  ask(5);
  const cancelled = ask(6);
  ask(-2);
  ask(3);
  cancelled.unsubscribe();
  nextTurn();
  expect(done).toEqual([5, -1, 3]);
});
