import { describe, expect, test } from 'vitest';
import { createScripted, failureOf, now, row } from '../../../test/support/scripted-passes.ts';
import type { ForwardBatch } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

describe('the pool', () => {
  test('prefill in chunks, then decode, over blocks in any order', () => {
    const runner = createScripted();
    const blocks = [5, 2];
    expect(now(runner.forward({ ...row([1, 2, 3], 0, [5]), logitsAt: [] }))).toEqual([]);
    expect(now(runner.forward(row([4, 5], 3, blocks)))).toEqual([15]);
    expect(now(runner.forward(row([15], 5, blocks)))).toEqual([30]);
  });

  test('contiguous: a slot is one long block', () => {
    const runner = createScripted({}, { layout: 'contiguous', blocks: 2, blockSize: 16 });
    now(runner.forward(row([1, 2, 3], 0, [0])));
    now(runner.forward(row([10], 0, [1])));
    expect(now(runner.forward(row([4], 3, [0])))).toEqual([10]);
    expect(now(runner.forward(row([4], 1, [1])))).toEqual([14]);
  });

  test('none: a row brings all its tokens', () => {
    const runner = createScripted({}, { layout: 'none', blocks: 0, blockSize: 0 });
    expect(now(runner.forward(row([1, 2, 3], 0, [])))).toEqual([6]);
    expect(failureOf(runner.forward(row([1], 3, []))).message).toBe(
      'Forward pass 1 failed: row 0 starts at position 3, but without a cache it must bring all its tokens.',
    );
  });

  test('several rows of different lengths, and logits at several places', () => {
    const runner = createScripted();
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
    const runner = createScripted();
    now(runner.forward(row([1, 2, 3, 4], 0, [1])));
    expect(now(runner.forward(row([5], 4, [1, 2])))).toEqual([15]);
    expect(now(runner.forward(row([6], 4, [1, 3])))).toEqual([16]);
    expect(now(runner.forward(row([1], 5, [1, 2])))).toEqual([16]);
  });

  test('a wrong block table gives the tokens of another sequence', () => {
    const runner = createScripted();
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
    const failure = failureOf(createScripted().forward(batch));
    expect(failure).toBeInstanceOf(RxllmError);
    expect({ code: failure.code, message: failure.message }).toEqual({
      code: 'RXLLM_RUNTIME_FAILED',
      message: `Forward pass 0 failed: ${reason}.`,
    });
  });
});
