import { firstValueFrom, map, merge, of, takeUntil } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, test } from 'vitest';
import { createScripted, now, row, winners } from '../../../test/support/scripted-passes.ts';
import type { Logits } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

describe('passes', () => {
  const marbles = (
    body: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0], clock: TestScheduler) => void,
  ) => {
    const clock = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    clock.run((helpers) => body(helpers, clock));
  };
  const word = map((logits: Logits) => String(winners(logits)));

  test('take their time on the clock', () =>
    marbles(({ expectObservable }, clock) => {
      const runner = createScripted({ delayMs: 3, clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('---(a|)', { a: '7' });
    }));

  test('without a delay emit during the call to subscribe', () =>
    marbles(({ expectObservable }, clock) => {
      const runner = createScripted({ clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('(a|)', { a: '7' });
    }));

  test('are cold', () => {
    const runner = createScripted();
    const pass = runner.forward(row([7], 0, [1]));
    expect(runner.calls).toHaveLength(0);
    now(pass);
    now(pass);
    expect(runner.calls).toHaveLength(2);
  });

  test('run one at a time, in order, as long as their batch takes', () =>
    marbles(({ expectObservable }, clock) => {
      const runner = createScripted({ delayMs: ({ width }) => width * 2, clock });
      const both = merge(runner.forward(row([7], 0, [1])), runner.forward(row([4, 4], 0, [2]))).pipe(word);
      expectObservable(both).toBe('--a---(b|)', { a: '7', b: '8' });
    }));

  test('fail when their time is over, and the next one runs', () =>
    marbles(({ expectObservable, flush }, clock) => {
      const runner = createScripted({ delayMs: 2, clock, fail: (index) => (index === 0 ? 'boom' : undefined) });
      const code = runner.forward(row([7], 0, [1]));
      const error = new RxllmError('RXLLM_RUNTIME_FAILED', 'Forward pass 0 failed: boom.', { cause: 'boom' });
      expectObservable(code).toBe('--#', undefined, error);
      expectObservable(runner.forward(row([4], 0, [1])).pipe(word)).toBe('----(a|)', { a: '4' });
      flush();
      expect(runner.calls).toHaveLength(2);
    }));

  test('that are unsubscribed finish, are dropped, and only then let the next one run', () =>
    marbles(({ cold, expectObservable }, clock) => {
      const runner = createScripted({ delayMs: 4, clock });
      const cancelled = runner.forward(row([7], 0, [1])).pipe(word, takeUntil(cold('-x')));
      expectObservable(cancelled).toBe('-|');
      expectObservable(runner.forward(row([1], 1, [1])).pipe(word)).toBe('--------(a|)', { a: '8' });
    }));

  test('that are unsubscribed while they wait never run', () =>
    marbles(({ cold, expectObservable, flush }, clock) => {
      const runner = createScripted({ delayMs: 4, clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('----(a|)', { a: '7' });
      expectObservable(runner.forward(row([1], 0, [2])).pipe(takeUntil(cold('-x')))).toBe('-|');
      flush();
      expect(runner.calls.map(({ ids }) => ids)).toEqual([[[7]]]);
    }));

  test('asked for by the reader of logits run after it has read them', () => {
    const runner = createScripted();
    const seen: string[] = [];
    runner.forward(row([7], 0, [1])).subscribe((first) => {
      runner.forward(row([1], 1, [1])).subscribe((second) => seen.push(`second ${winners(second)}`));
      seen.push(`first ${winners(first)}`);
    });
    expect(seen).toEqual(['first 7', 'second 8']);
  });

  test('make the logits of the one before unreadable', () => {
    const runner = createScripted();
    let kept: Float32Array | undefined;
    runner.forward(row([7], 0, [1])).subscribe(({ data }) => {
      kept = data;
    });
    expect(kept?.[7]).toBe(50);
    now(runner.forward({ ...row([1], 1, [1]), logitsAt: [] }));
    expect(kept?.every(Number.isNaN)).toBe(true);
  });
});

describe('dispose', () => {
  test('waits for the pass that runs; those that wait and come later fail; twice is once', async () => {
    const clock = new TestScheduler(() => {});
    const runner = createScripted({ delayMs: 5, clock });
    const log: string[] = [];
    const watch = (name: string) =>
      runner.forward(row([7], 0, [1])).subscribe({
        next: () => log.push(`${name} emits`),
        error: (error: RxllmError) => log.push(`${name} ${error.code}`),
      });
    watch('running');
    watch('waiting');
    const disposals = [runner.dispose(), runner.dispose()].map((done) => done.then(() => log.push('disposed')));
    await Promise.resolve();
    expect(log).toEqual([]);
    clock.flush();
    await Promise.all(disposals);
    watch('late');
    expect(log).toEqual([
      'running emits',
      'waiting RXLLM_RUNTIME_FAILED',
      'disposed',
      'disposed',
      'late RXLLM_RUNTIME_FAILED',
    ]);
    expect(runner.calls).toHaveLength(1);
    await runner.dispose();
  });

  test('is at once when nothing runs', async () => {
    const runner = createScripted();
    await runner.dispose();
    await expect(firstValueFrom(merge(runner.forward(row([7], 0, [1])), of()))).rejects.toThrow(
      'The runner is disposed: create a new engine.',
    );
  });
});
