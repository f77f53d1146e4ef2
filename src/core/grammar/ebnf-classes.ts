import { elements } from './notation.ts';
import { invalidFormat, shorten } from './refusals.ts';

const BEYOND_ASCII = /[^\0-\x7f]/u;
/** By its number. */
const ESCAPE = /\\(?:\\|[xuU]\{?([\da-fA-F]+))/g;

/**
 * In the classes of EBNF, XGrammar takes the lowest byte of a code point for the code point.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` for the first class that names one beyond ASCII
 */
export function refuseWideClasses(grammar: string): void {
  const isWide = (element: string) =>
    element.startsWith('[') &&
    (BEYOND_ASCII.test(element) ||
      Array.from(element.matchAll(ESCAPE)).some(([, number = '0']) => Number.parseInt(number, 16) > 0x7f));
  const wide = Array.from(elements(grammar, 'ebnf'), ([element]) => element).find(isWide);
  if (wide === undefined) return;
  throw invalidFormat(
    `the class ${shorten(wide)} has characters beyond ASCII, which cannot be enforced in the classes of a grammar; write them as texts, ("é" | "è"), or as a regular expression.`,
  );
}
