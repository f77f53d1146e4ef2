import { asyncScheduler } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { testScheduler } from '../../../test/support/marbles.ts';
import { after } from './after.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('emits once, at once where the time is over already, and never after Infinity', () => {
  const scheduler = testScheduler();
  scheduler.run(({ expectObservable }) => {
    expectObservable(after(3, scheduler)).toBe('---(a|)', { a: 0 });
    expectObservable(after(-5, scheduler)).toBe('(a|)', { a: 0 });
    expectObservable(after(Number.POSITIVE_INFINITY, scheduler)).toBe('-');
  });
});

it('waits for longer than a timer of the platform can', () => {
  const ms = 2 ** 33;
  let emitted = 0;
  after(ms, asyncScheduler).subscribe(() => {
    emitted += 1;
  });
  vi.advanceTimersByTime(ms - 1);
  expect(emitted).toBe(0);
  vi.advanceTimersByTime(1);
  expect(emitted).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

it('gives its timer back', () => {
  after(2 ** 40, asyncScheduler)
    .subscribe()
    .unsubscribe();
  expect(vi.getTimerCount()).toBe(0);
});
