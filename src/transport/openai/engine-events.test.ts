import { expect, it } from 'vitest';
import { RxllmError } from '../../core/errors.ts';
import { resolveParams } from '../../core/sampling/params.ts';
import { inWireNames } from './engine-events.ts';

function told(make: () => unknown): unknown {
  try {
    return make();
  } catch (error) {
    const { param, message } = inWireNames(error, 'messages') as RxllmError;
    return { param, message };
  }
}

it.each([
  [{ minTokens: 9, maxTokens: 8 }, 'min_tokens', 'min_tokens must be at most max_tokens (8), not 9.'],
  [{ topK: 0.5 }, 'top_k', 'top_k must be an integer of at least 1, or -1 or 0 for no limit, not 0.5.'],
  [{ temperature: 3 }, 'temperature', 'temperature must be a number from 0 to 2, not 3.'],
])('%j is told in the wire\u2019s names', (params, param, message) => {
  expect(told(() => resolveParams(params))).toEqual({ param, message });
});

it('names the field that brought the prompt, and leaves what is not on the wire', () => {
  const error = (message: string, param: string) => () => {
    throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param });
  };
  expect(told(error('prompt: raise maxModelLen.', 'prompt'))).toEqual({
    param: 'messages',
    message: 'messages: raise maxModelLen.',
  });
  expect(told(error('forkOf: raise maxModelLen.', 'forkOf'))).toEqual({
    param: 'forkOf',
    message: 'forkOf: raise maxModelLen.',
  });
  const bug = new TypeError('maxTokens');
  expect(inWireNames(bug, 'prompt')).toBe(bug);
});
