import { RxllmError } from './errors.ts';

export function engineClosed(): RxllmError {
  return new RxllmError('RXLLM_ENGINE_CLOSED', 'The engine is closed; start another.');
}
