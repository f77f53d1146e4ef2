import { RxllmError } from '../errors.ts';

/** Longer texts of a client's are shown by their beginning. */
const MAX_SHOWN = 60;

export const shorten = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** A format that cannot be compiled or kept; `problem` is a whole sentence. */
export function invalidFormat(problem: string): RxllmError {
  return new RxllmError('RXLLM_GRAMMAR_INVALID', `responseFormat: ${problem}`, { param: 'responseFormat' });
}
