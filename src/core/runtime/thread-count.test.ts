import { describe, expect, it } from 'vitest';
import { maySpin, threadCount } from './thread-count.ts';

describe('threadCount', () => {
  it('takes the option, else the variable, else the cores', () => {
    expect(threadCount(3, { RXLLM_THREADS: '2' })).toBe(3);
    expect(threadCount(undefined, { RXLLM_THREADS: '2' })).toBe(2);
    const cores = threadCount(undefined, {});
    expect(Number.isInteger(cores) && cores >= 1 && cores <= 8).toBe(true);
  });

  it.each(['0', '1.5', 'many', ''])('refuses %j', (value) => {
    expect(() => threadCount(undefined, { RXLLM_THREADS: value })).toThrow(
      expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'RXLLM_THREADS' }),
    );
  });

  it('names the option that is wrong', () => {
    expect(() => threadCount(0, {})).toThrow('threads is 0; it must be a whole number, 1 or more');
  });
});

describe('maySpin', () => {
  it('is on unless it is turned off', () => {
    expect([
      maySpin(undefined, {}),
      maySpin(undefined, { RXLLM_SPIN: '0' }),
      maySpin(true, { RXLLM_SPIN: '0' }),
    ]).toEqual([true, false, true]);
  });
});
