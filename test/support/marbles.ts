import type { OperatorFunction } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect } from 'vitest';

export const testScheduler = () => new TestScheduler((actual, expected) => expect(actual).toEqual(expected));

/**
 * What every synchronous stage owes the chain it stands in: it passes completion and errors on, and whoever
 * unsubscribes from it has unsubscribed from its source. `make` gives a fresh operator.
 */
export function expectWellBehaved<I, O>(make: (scheduler: TestScheduler) => OperatorFunction<I, O>, value: I): void {
  testScheduler().run(({ cold, expectObservable }) => {
    expectObservable(cold<I>('--|').pipe(make(testScheduler()))).toBe('--|');
    expectObservable(cold<I>('--#').pipe(make(testScheduler()))).toBe('--#');
  });
  testScheduler().run(({ hot, expectSubscriptions, expectObservable }) => {
    const source = hot<I>('----v---', { v: value });
    expectObservable(source.pipe(make(testScheduler())), '^-!').toBe('---');
    expectSubscriptions(source.subscriptions).toBe('^-!');
  });
}
