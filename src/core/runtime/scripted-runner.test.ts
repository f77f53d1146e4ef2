import { firstValueFrom } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { fakeModel } from '../../../test/support/fakes.ts';
import {
  createScripted,
  failureOf,
  now,
  PAGED,
  row,
  sum,
  VOCAB,
  winners,
} from '../../../test/support/scripted-passes.ts';
import type { GraphSource } from '../contracts/index.ts';
import { scriptedRuntime } from './scripted-runner.ts';

describe('the script', () => {
  test('a token becomes one-hot logits, logits stay as they are', () => {
    const given = Float32Array.from({ length: VOCAB }, (_, id) => id / 2);
    const runner = createScripted({ next: (_history, { index }) => (index === 0 ? 3 : given) });
    runner.forward(row([1], 0, [1])).subscribe(({ rows, vocab, data }) => {
      expect({ rows, vocab, data: [...data] }).toEqual({
        rows: 1,
        vocab: VOCAB,
        data: Array.from({ length: VOCAB }, (_, id) => (id === 3 ? 50 : 0)),
      });
    });
    runner.forward(row([1], 0, [1])).subscribe(({ data }) => expect([...data]).toEqual([...given]));
    expect(runner.calls).toHaveLength(2);
  });

  test.each([
    [VOCAB, 'the script gives token 32, not of the vocabulary of 32'],
    [-1, 'the script gives token -1, not of the vocabulary of 32'],
    [0.5, 'the script gives token 0.5, not of the vocabulary of 32'],
    [new Float32Array(3), 'the script gives 3 logits, not 32'],
  ])('%o is refused', (token, reason) => {
    expect(failureOf(createScripted({ next: () => token }).forward(row([1], 0, [1]))).message).toContain(reason);
  });

  test('a failure has its cause; the next pass works', () => {
    const cause = new Error('out of memory');
    const runner = createScripted({
      fail: (index, { ids }) => (index === 1 ? cause : ids[0]![0] === 9 ? 'nine' : undefined),
    });
    expect(now(runner.forward(row([1], 0, [1])))).toEqual([1]);
    const failure = failureOf(runner.forward(row([2], 1, [1])));
    expect(failure.message).toBe('Forward pass 1 failed: out of memory.');
    expect(failure.cause).toBe(cause);
    expect(failureOf(runner.forward(row([9], 1, [1]))).message).toBe('Forward pass 2 failed: nine.');
    expect(now(runner.forward(row([2], 1, [1])))).toEqual([3]);
  });

  test.each(['next', 'delayMs', 'fail'])('%s that throws fails its pass only', (name) => {
    let thrown = false;
    const runner = createScripted({
      [name]: () => {
        if (thrown) return name === 'next' ? 7 : name === 'delayMs' ? 0 : undefined;
        thrown = true;
        throw new Error('a bug');
      },
    });
    expect(failureOf(runner.forward(row([7], 0, [1]))).message).toBe('Forward pass 0 failed: a bug.');
    expect(now(runner.forward(row([7], 0, [1])))).toEqual([7]);
  });

  test('calls are copies', () => {
    const runner = createScripted();
    const ids = [1, 2];
    const table = [1];
    now(runner.forward({ ...row(ids, 0, table), ids: [ids], blockTables: [table] }));
    ids.push(9);
    table.length = 0;
    expect(runner.calls).toEqual([row([1, 2], 0, [1])]);
  });

  test('as a runtime slot it takes the model and the pool of the engine', async () => {
    const runtime = scriptedRuntime({ next: sum });
    const runner = await runtime({} as GraphSource, fakeModel({ vocab: VOCAB }), PAGED);
    expect(runner.config.vocab).toBe(VOCAB);
    expect(runner.description).toBe('scripted, no model');
    expect(winners(await firstValueFrom(runner.forward(row([1, 2], 0, [1]))))).toEqual([3]);
    expect(runtime.runners).toEqual([runner]);
    expect(runtime.runners[0]?.calls).toHaveLength(1);
  });
});
