import { Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { type Signal, stopSignals } from './stop-signals.ts';

it('takes the first signal for a stop, its repetition for the same, and a later one for the end', () => {
  const signal$ = new Subject<Signal>();
  const exits: number[] = [];
  const stops: unknown[] = [];
  let now = 500;
  stopSignals((code) => exits.push(code), signal$, { now: () => now }).subscribe((signal) => stops.push(signal[0]));
  const send = (at: number, signal: Signal) => {
    now = at;
    signal$.next(signal);
    return [stops.length, ...exits];
  };
  expect(send(700, ['SIGINT', 2])).toEqual([1]);
  expect(send(700, ['SIGINT', 2])).toEqual([1]);
  expect(send(1699, ['SIGINT', 2])).toEqual([1]);
  expect(send(1700, ['SIGTERM', 15])).toEqual([1, 143]);
  expect(send(1800, ['SIGTERM', 15])).toEqual([1, 143]);
});
