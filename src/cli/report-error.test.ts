import { expect, it } from 'vitest';
import { RxllmError } from '../core/errors.ts';
import { CliError, reportError } from './report-error.ts';

it.each([
  [
    new RxllmError('RXLLM_OPTION_INVALID', 'maxModelLen: 9 is not a whole number from 1 to 8.', {
      param: 'maxModelLen',
    }),
    2,
    'error: --max-model-len: 9 is not a whole number from 1 to 8.\n',
  ],
  [
    new RxllmError('RXLLM_OPTION_INVALID', 'blockSize 9 is in prompt order; lower blockSize or raise maxModelLen.', {
      param: 'blockSize',
    }),
    2,
    'error: --block-size 9 is in prompt order; lower --block-size or raise --max-model-len.\n',
  ],
  [
    new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt: too long', { param: 'prompt' }),
    2,
    'error: --prompt: too long\n',
  ],
  [new RxllmError('RXLLM_MODEL_FILE_INVALID', 'cut short'), 1, 'error: cut short\n'],
  [new CliError('port 8000 is taken'), 1, 'error: port 8000 is taken\n'],
])('%s', (error, code, message) => {
  let written = '';
  expect(
    reportError(error, (text) => {
      written += text;
    }),
  ).toBe(code);
  expect(written).toBe(message);
});

it('leaves a bug its stack', () => {
  const bug = new TypeError('x is not a function');
  expect(() => reportError(bug, () => {})).toThrow(bug);
});
