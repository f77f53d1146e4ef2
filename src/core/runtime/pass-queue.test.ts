import { concatMap, from } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { PassQueue } from './pass-queue.ts';

/** A pass that ends when it is told to. */
function manual<T>(): {
  pass: () => Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  runs: number;
} {
  const state = {
    runs: 0,
    resolve: (_: T) => {},
    reject: (_: Error) => {},
    pass: () => {
      state.runs++;
      return new Promise<T>((resolve, reject) => Object.assign(state, { resolve, reject }));
    },
  };
  return state;
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('PassQueue', () => {
  it('is cold, and emits at once where the pass does', () => {
    const queue = new PassQueue<number>();
    const seen: (number | string)[] = [];
    const pass$ = queue.run(() => 7);
    expect(seen).toEqual([]);
    pass$.subscribe({ next: (value) => seen.push(value), complete: () => seen.push('done') });
    expect(seen).toEqual([7, 'done']);
  });

  it('starts a pass only when the one before has been read', async () => {
    const queue = new PassQueue<number>();
    const [first, second] = [manual<number>(), manual<number>()];
    const seen: number[] = [];
    queue.run(first.pass).subscribe((value) => {
      expect(second.runs).toBe(0);
      seen.push(value);
    });
    queue.run(second.pass).subscribe((value) => seen.push(value));
    expect([first.runs, second.runs]).toEqual([1, 0]);
    first.resolve(1);
    await settled();
    expect([seen, second.runs]).toEqual([[1], 1]);
    second.resolve(2);
    await settled();
    expect(seen).toEqual([1, 2]);
  });

  it('takes a pass that a result asks for, without growing the stack', () => {
    const queue = new PassQueue<number>();
    const numbers = Array.from({ length: 20_000 }, (_, i) => i);
    let sum = 0;
    from(numbers)
      .pipe(concatMap((n) => queue.run(() => n)))
      .subscribe((n) => {
        sum += n;
      });
    expect(sum).toBe(199_990_000);
    const nested: number[] = [];
    const countDown = (n: number): void => {
      queue
        .run(() => n)
        .subscribe((value) => {
          nested.push(value);
          if (n > 0) countDown(n - 1);
        });
    };
    countDown(20_000);
    expect(nested).toHaveLength(20_001);
  });

  it('never runs a pass that is cancelled while it waits, and lets a running one finish', async () => {
    const queue = new PassQueue<number>();
    const [running, waiting, last] = [manual<number>(), manual<number>(), manual<number>()];
    const seen: number[] = [];
    const subscriptions = [running, waiting].map(({ pass }) => queue.run(pass).subscribe((value) => seen.push(value)));
    queue.run(last.pass).subscribe((value) => seen.push(value));
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(last.runs).toBe(0);
    running.resolve(1);
    await settled();
    last.resolve(3);
    await settled();
    expect(waiting.runs).toBe(0);
    expect(seen).toEqual([3]);
  });

  it('gives a coded error, and goes on', async () => {
    const queue = new PassQueue<number>();
    const failing = manual<number>();
    const errors: { code: string; message: string }[] = [];
    const values: number[] = [];
    const error = (reason: { code: string; message: string }) => errors.push(reason);
    queue.run(failing.pass).subscribe({ error });
    queue
      .run(() => {
        throw new Error('thrown');
      })
      .subscribe({ error });
    queue.run(() => 5).subscribe((value) => values.push(value));
    failing.reject(new Error('rejected'));
    await settled();
    expect(errors.map(({ code }) => code)).toEqual(['RXLLM_RUNTIME_FAILED', 'RXLLM_RUNTIME_FAILED']);
    expect(errors.map(({ message }) => message)).toEqual([
      'the forward pass failed: Error: rejected',
      'the forward pass failed: Error: thrown',
    ]);
    expect(values).toEqual([5]);
  });

  it('frees once, after the running pass', async () => {
    const queue = new PassQueue<number>();
    const running = manual<number>();
    const events: string[] = [];
    queue.run(running.pass).subscribe((value) => events.push(`result ${value}`));
    const free = () => {
      events.push('freed');
    };
    const closings = [queue.close(free), queue.close(free)];
    await settled();
    expect(events).toEqual([]);
    running.resolve(1);
    await Promise.all(closings);
    await queue.close(free);
    expect(events).toEqual(['result 1', 'freed']);
  });
});
