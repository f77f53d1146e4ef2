import type { RxllmError } from '../errors.ts';
import { invalidFormat, shorten } from './refusals.ts';

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Behind an even number of backslashes. */
const ESCAPED_SURROGATE = /(?<!\\)(?:\\\\)*\\(?:u|[ux]\{0*|U0000)[dD][89a-fA-F][\da-fA-F]{2}/;
/** Where escapes stand for characters. */
const NOTATIONS = new Set(['pattern', 'grammar']);

/**
 * Text is made of whole characters, and half of one that takes two UTF-16 units is none.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` for the first string, or name of a property, that has such a half
 */
export function refuseHalfCharacters(value: unknown, name = ''): void {
  if (typeof value === 'string') {
    if (LONE_SURROGATE.test(value)) throw halfCharacter(value);
    if (NOTATIONS.has(name) && ESCAPED_SURROGATE.test(value)) throw halfCharacter(value);
  } else if (Array.isArray(value)) {
    for (const one of value) refuseHalfCharacters(one);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      refuseHalfCharacters(key);
      refuseHalfCharacters(one, key);
    }
  }
}

function halfCharacter(text: string): RxllmError {
  const shown = JSON.stringify(shorten(text));
  return invalidFormat(
    `${shown} has half of a surrogate pair (\\ud800 to \\udfff), which is no character; write the whole character.`,
  );
}
