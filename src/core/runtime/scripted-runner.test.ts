import { firstValueFrom, map, merge, type Observable, of, takeUntil } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, test } from 'vitest';
import { fakeConfig, fakeModel } from '../../../test/support/fakes.ts';
import type { ForwardBatch, GraphSource, KvPool, Logits, TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { type Script, scriptedRunner, scriptedRuntime } from './scripted-runner.ts';

const PAGED: KvPool = { layout: 'paged', blocks: 8, blockSize: 4 };
const VOCAB = 32;

/** The next token is the sum of all before it, so every token of the history counts. */
const sum = (history: readonly TokenId[]) => history.reduce((total, id) => total + id, 0) % VOCAB;
const create = (script: Partial<Script> = {}, pool = PAGED) =>
  scriptedRunner({ next: sum, ...script, config: fakeConfig({ vocab: VOCAB }), pool });

/** One row, logits of its last token. */
const row = (ids: TokenId[], position: number, blocks: number[]): ForwardBatch => ({
  rows: 1,
  width: ids.length,
  ids: [ids],
  positions: [position],
  blockTables: [blocks],
  logitsAt: [ids.length - 1],
});

const winners = ({ rows, vocab, data }: Logits): TokenId[] =>
  Array.from({ length: rows }, (_, at) => {
    const logits = data.subarray(at * vocab, (at + 1) * vocab);
    return logits.indexOf(Math.max(...logits));
  });

/** For passes that emit during the call to subscribe. */
function now(source: Observable<Logits>): TokenId[] {
  let seen: TokenId[] = [];
  source.subscribe({
    next: (logits) => {
      seen = winners(logits);
    },
    error: (error) => {
      throw error;
    },
  });
  return seen;
}

const failureOf = (source: Observable<Logits>) => {
  let failure: unknown;
  source.subscribe({
    error: (error) => {
      failure = error;
    },
  });
  return failure as RxllmError;
};

describe('the pool', () => {
  test('prefill in chunks, then decode, over blocks in any order', () => {
    const runner = create();
    const blocks = [5, 2];
    expect(now(runner.forward({ ...row([1, 2, 3], 0, [5]), logitsAt: [] }))).toEqual([]);
    expect(now(runner.forward(row([4, 5], 3, blocks)))).toEqual([15]);
    expect(now(runner.forward(row([15], 5, blocks)))).toEqual([30]);
  });

  test('contiguous: a slot is one long block', () => {
    const runner = create({}, { layout: 'contiguous', blocks: 2, blockSize: 16 });
    now(runner.forward(row([1, 2, 3], 0, [0])));
    now(runner.forward(row([10], 0, [1])));
    expect(now(runner.forward(row([4], 3, [0])))).toEqual([10]);
    expect(now(runner.forward(row([4], 1, [1])))).toEqual([14]);
  });

  test('none: a row brings all its tokens', () => {
    const runner = create({}, { layout: 'none', blocks: 0, blockSize: 0 });
    expect(now(runner.forward(row([1, 2, 3], 0, [])))).toEqual([6]);
    expect(failureOf(runner.forward(row([1], 3, []))).message).toBe(
      'Forward pass 1 failed: row 0 starts at position 3, but without a cache it must bring all its tokens.',
    );
  });

  test('several rows of different lengths, and logits at several places', () => {
    const runner = create();
    now(runner.forward(row([1, 1], 0, [3])));
    const batch: ForwardBatch = {
      rows: 2,
      width: 3,
      ids: [[2], [4, 5, 6]],
      positions: [2, 0],
      blockTables: [[3], [1]],
      logitsAt: [0, 3, 5],
    };
    expect(now(runner.forward(batch))).toEqual([4, 4, 15]);
  });

  test('two sequences share a prefix block', () => {
    const runner = create();
    now(runner.forward(row([1, 2, 3, 4], 0, [1])));
    expect(now(runner.forward(row([5], 4, [1, 2])))).toEqual([15]);
    expect(now(runner.forward(row([6], 4, [1, 3])))).toEqual([16]);
    expect(now(runner.forward(row([1], 5, [1, 2])))).toEqual([16]);
  });

  test('a wrong block table gives the tokens of another sequence', () => {
    const runner = create();
    now(runner.forward(row([1, 2, 3], 0, [1])));
    now(runner.forward(row([7, 7, 7], 0, [2])));
    expect(now(runner.forward(row([4], 3, [2])))).toEqual([25]);
  });

  test.each([
    ['a position past the table', row([1, 2, 3, 4, 5], 0, [1]), 'row 0 has position 4, past its block table [1]'],
    ['the block of padding', row([1], 0, [0]), 'row 0 names block 0, which cannot be given out in a paged pool of 8'],
    ['no such block', row([1], 0, [8]), 'row 0 names block 8, which cannot be given out in a paged pool of 8'],
    ['a hole', row([1], 2, [1]), 'row 0 reads position 0, which was never written'],
    ['logits of padding', { ...row([1], 0, [1]), width: 2, logitsAt: [1] }, 'row 0 has 1 tokens: column 1 is padding'],
    ['a row too long', { ...row([1, 2], 0, [1]), width: 1 }, 'row 0 has 2 tokens, more than 1'],
  ])('%s fails', (_what, batch, reason) => {
    const failure = failureOf(create().forward(batch));
    expect(failure).toBeInstanceOf(RxllmError);
    expect({ code: failure.code, message: failure.message }).toEqual({
      code: 'RXLLM_RUNTIME_FAILED',
      message: `Forward pass 0 failed: ${reason}.`,
    });
  });
});

describe('the script', () => {
  test('a token becomes one-hot logits, logits stay as they are', () => {
    const given = Float32Array.from({ length: VOCAB }, (_, id) => id / 2);
    const runner = create({ next: (_history, { index }) => (index === 0 ? 3 : given) });
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
    expect(failureOf(create({ next: () => token }).forward(row([1], 0, [1]))).message).toContain(reason);
  });

  test('a failure has its cause; the next pass works', () => {
    const cause = new Error('out of memory');
    const runner = create({ fail: (index, { ids }) => (index === 1 ? cause : ids[0]![0] === 9 ? 'nine' : undefined) });
    expect(now(runner.forward(row([1], 0, [1])))).toEqual([1]);
    const failure = failureOf(runner.forward(row([2], 1, [1])));
    expect(failure.message).toBe('Forward pass 1 failed: out of memory.');
    expect(failure.cause).toBe(cause);
    expect(failureOf(runner.forward(row([9], 1, [1]))).message).toBe('Forward pass 2 failed: nine.');
    expect(now(runner.forward(row([2], 1, [1])))).toEqual([3]);
  });

  test.each(['next', 'delayMs', 'fail'])('%s that throws fails its pass only', (name) => {
    let thrown = false;
    const runner = create({
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
    const runner = create();
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
      const runner = create({ delayMs: 3, clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('---(a|)', { a: '7' });
    }));

  test('without a delay emit during the call to subscribe', () =>
    marbles(({ expectObservable }, clock) => {
      const runner = create({ clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('(a|)', { a: '7' });
    }));

  test('are cold', () => {
    const runner = create();
    const pass = runner.forward(row([7], 0, [1]));
    expect(runner.calls).toHaveLength(0);
    now(pass);
    now(pass);
    expect(runner.calls).toHaveLength(2);
  });

  test('run one at a time, in order, as long as their batch takes', () =>
    marbles(({ expectObservable }, clock) => {
      const runner = create({ delayMs: ({ width }) => width * 2, clock });
      const both = merge(runner.forward(row([7], 0, [1])), runner.forward(row([4, 4], 0, [2]))).pipe(word);
      expectObservable(both).toBe('--a---(b|)', { a: '7', b: '8' });
    }));

  test('fail when their time is over, and the next one runs', () =>
    marbles(({ expectObservable, flush }, clock) => {
      const runner = create({ delayMs: 2, clock, fail: (index) => (index === 0 ? 'boom' : undefined) });
      const code = runner.forward(row([7], 0, [1]));
      const error = new RxllmError('RXLLM_RUNTIME_FAILED', 'Forward pass 0 failed: boom.', { cause: 'boom' });
      expectObservable(code).toBe('--#', undefined, error);
      expectObservable(runner.forward(row([4], 0, [1])).pipe(word)).toBe('----(a|)', { a: '4' });
      flush();
      expect(runner.calls).toHaveLength(2);
    }));

  test('that are unsubscribed finish, are dropped, and only then let the next one run', () =>
    marbles(({ cold, expectObservable }, clock) => {
      const runner = create({ delayMs: 4, clock });
      const cancelled = runner.forward(row([7], 0, [1])).pipe(word, takeUntil(cold('-x')));
      expectObservable(cancelled).toBe('-|');
      expectObservable(runner.forward(row([1], 1, [1])).pipe(word)).toBe('--------(a|)', { a: '8' });
    }));

  test('that are unsubscribed while they wait never run', () =>
    marbles(({ cold, expectObservable, flush }, clock) => {
      const runner = create({ delayMs: 4, clock });
      expectObservable(runner.forward(row([7], 0, [1])).pipe(word)).toBe('----(a|)', { a: '7' });
      expectObservable(runner.forward(row([1], 0, [2])).pipe(takeUntil(cold('-x')))).toBe('-|');
      flush();
      expect(runner.calls.map(({ ids }) => ids)).toEqual([[[7]]]);
    }));

  test('asked for by the reader of logits run after it has read them', () => {
    const runner = create();
    const seen: string[] = [];
    runner.forward(row([7], 0, [1])).subscribe((first) => {
      runner.forward(row([1], 1, [1])).subscribe((second) => seen.push(`second ${winners(second)}`));
      seen.push(`first ${winners(first)}`);
    });
    expect(seen).toEqual(['first 7', 'second 8']);
  });

  test('make the logits of the one before unreadable', () => {
    const runner = create();
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
    const runner = create({ delayMs: 5, clock });
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
    const runner = create();
    await runner.dispose();
    await expect(firstValueFrom(merge(runner.forward(row([7], 0, [1])), of()))).rejects.toThrow(
      'The runner is disposed: create a new engine.',
    );
  });
});
