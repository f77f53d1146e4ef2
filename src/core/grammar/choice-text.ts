import { groupBy } from '../group-by.ts';
import { firstBytes, keptApart } from './kept-apart.ts';

/** How deep what begins alike is taken together: XGrammar calls itself once a group. */
const MAX_DEPTH = 64;
/** A rule of its own that allows the empty text alone. */
export const EMPTY = '""? ';

/** Choices as EBNF, what begins alike taken together, or else kept apart. */
export function choiceText(choices: readonly string[], depth = 0): string {
  if (depth === MAX_DEPTH) return keptApart(choices.map(quote), EMPTY, () => undefined).join(' | ');
  const groups = groupBy(new Set(choices), ([first = '']) => first);
  const alternatives = Array.from(groups.values(), (group) => {
    const begin = commonBeginning(group);
    if (group.length === 1) return quote(begin);
    return `${quote(begin)} (${choiceText(
      group.map((choice) => choice.slice(begin.length)),
      depth + 1,
    )})`;
  });
  // Each begins with a quote.
  return keptApart(alternatives, EMPTY, ([, first]) => firstBytes(first!)).join(' | ');
}

function commonBeginning(texts: readonly string[]): string {
  let begin = '';
  for (const character of texts[0]!) {
    if (!texts.every((text) => text.startsWith(begin + character))) break;
    begin += character;
  }
  return begin;
}

/** As EBNF writes text: JSON's escapes, but for code points outside the first plane. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
