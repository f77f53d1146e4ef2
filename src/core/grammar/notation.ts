/** What a pattern or an EBNF grammar is made of, as far as its groups and counts are concerned. What is not closed goes on to the end. */
const ELEMENTS = {
  regex: /\\u\{[\da-fA-F]+\}|\\.|\[(?:\\.|[^\]\\])*\]?|\{\s*(\d+)\s*(?:,\s*(?:(\d+)\s*)?)?\}|./gs,
  ebnf: /"(?:\\.|[^"\\])*"?|\[(?:\\.|[^\]\\])*\]?|#[^\n]*|\{\s*(\d+)\s*(?:,\s*(?:(\d+)\s*)?)?\}|\S/gs,
};

export type Notation = keyof typeof ELEMENTS;

/** The elements of a text in order: each match is one, and that of a count has its least and its most. */
export function elements(text: string, notation: Notation): Iterable<RegExpMatchArray> {
  return text.matchAll(ELEMENTS[notation]);
}
