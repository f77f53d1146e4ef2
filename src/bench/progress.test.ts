import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createProgress } from './progress.ts';

/** All that is written for two of two parts. */
function written(isTTY: boolean): string {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 80, cursorTo: () => true, clearLine: () => true });
  const progress = createProgress('kv-cache', 2, stream as unknown as NodeJS.WriteStream);
  progress.advance();
  progress.advance();
  progress.stop();
  return String(stream.read() ?? '');
}

it('shows how far it is on a terminal', () => {
  expect(written(true)).toContain('kv-cache');
  expect(written(true)).toContain('2/2');
});

it('is silent in a pipe', () => {
  expect(written(false)).toBe('');
});
