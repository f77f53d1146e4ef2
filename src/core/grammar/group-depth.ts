import { RxllmError } from '../errors.ts';
import { MAX_NESTING } from './nesting.ts';
import { elements, type Notation } from './notation.ts';

const FLATTER: Record<Notation, string> = {
  regex: 'leave out parentheses that are not needed',
  ebnf: 'make the inner groups rules of their own',
};

/**
 * XGrammar calls itself once a group, and its stack ends before two hundred of them.
 * @throws RxllmError `RXLLM_GRAMMAR_TOO_LARGE` where the groups of a pattern or an EBNF grammar lie in each other too deep
 */
export function refuseDeepGroups(text: string, notation: Notation): void {
  const depth = groupDepth(text, notation);
  if (depth <= MAX_NESTING) return;
  const problem = `its parentheses lie in each other ${depth} deep; at most ${MAX_NESTING} are compiled`;
  const message = `responseFormat: ${problem}. Make it flatter: ${FLATTER[notation]}.`;
  throw new RxllmError('RXLLM_GRAMMAR_TOO_LARGE', message, { param: 'responseFormat' });
}

/** How deep the groups of a pattern or an EBNF grammar lie in each other. */
export function groupDepth(text: string, notation: Notation): number {
  let depth = 0;
  let deepest = 0;
  for (const [element] of elements(text, notation)) {
    if (element === '(') depth += 1;
    else if (element === ')') depth = Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
