import { expect, it } from 'vitest';
import { createLogger } from './logger.ts';

function written(isTTY: boolean) {
  const output: string[] = [];
  return { output, logger: createLogger('info', { isTTY, write: (text) => output.push(text) }) };
}

it('writes JSON lines', () => {
  const { logger, output } = written(false);
  logger.info({ running: 2 }, 'running 2');
  logger.debug('not this');
  expect(output).toHaveLength(1);
  expect(JSON.parse(output[0]!)).toMatchObject({ level: 'info', running: 2, msg: 'running 2' });
});

it('writes lines for people in a terminal', () => {
  const { logger, output } = written(true);
  logger.info({ running: 2 }, 'running 2');
  logger.child({ reqId: 'x' }).error(new Error('out of luck'));
  expect(output[0]).toMatch(/^\d\d:\d\d:\d\d running 2\n$/);
  expect(output[1]).toMatch(/^\d\d:\d\d:\d\d error: out of luck \(request x\)\nError: out of luck\n {4}at /);
});
