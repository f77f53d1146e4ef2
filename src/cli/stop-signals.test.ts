import { Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { type Signal, stopSignals } from './stop-signals.ts';

function receiver() {
  const signal$ = new Subject<Signal>();
  const heard: string[] = [];
  let now = 0;
  stopSignals((code) => heard.push(`exit ${code}`), signal$, { now: () => now }).subscribe(([name]) =>
    heard.push(name),
  );
  return {
    heard,
    send: (at: number, ...signal: Signal) => {
      now = at;
      signal$.next(signal);
    },
  };
}

it('takes the first signal for a stop, its repetition for the same, and a later one for the end', () => {
  const { heard, send } = receiver();
  for (const at of [700, 700, 1699]) send(at, 'SIGINT', 2);
  expect(heard).toEqual(['SIGINT']);
  for (const at of [1700, 1800]) send(at, 'SIGINT', 2);
  expect(heard).toEqual(['SIGINT', 'exit 130']);
});

it('ends at once at another signal', () => {
  const { heard, send } = receiver();
  send(700, 'SIGINT', 2);
  send(701, 'SIGTERM', 15);
  expect(heard).toEqual(['SIGINT', 'exit 143']);
});
