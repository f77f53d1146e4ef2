import { type AST, RegExpParser, RegExpSyntaxError } from '@eslint-community/regexpp';
import type { RxllmError } from '../errors.ts';
import { asciiClass, beyondAscii, literal, ranges } from './class-text.ts';
import {
  ASCII,
  BEYOND_ASCII,
  type CodePoints,
  codePoints,
  difference,
  each,
  intersection,
  SURROGATES,
  size,
  union,
} from './code-points.ts';
import { refuseDeepGroups } from './group-depth.ts';
import { alternativesApart, partsApart } from './pattern-choices.ts';
import { classMembers, ESCAPED_IN_JSON } from './pattern-classes.ts';
import { invalidFormat, shorten } from './refusals.ts';

/** Where what a pattern matches stands: in a text, or between the quotes of a JSON string. */
export type PatternPlace = 'text' | 'json';

/** Parts of UTF-8 that the characters of one class may be made of. */
const MAX_PARTS = 256;
const SEPARATORS = codePoints([[0x2028, 0x2029]]);

/**
 * A pattern (ECMA-262, with the flag `u` where it allows that) as XGrammar reads it rightly. Of the classes, XGrammar cuts
 * code points to one byte: those beyond ASCII become the bytes of their UTF-8. Of `^` and `$` it sees nothing inside a
 * pattern, and of JSON's escapes nothing at all.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` for what cannot be enforced while text is generated,
 * `RXLLM_GRAMMAR_TOO_LARGE` where its groups lie in each other too deep
 */
export function toXGrammarPattern(pattern: string, place: PatternPlace): string {
  refuseDeepGroups(pattern, 'regex');
  return new Printer(pattern, place === 'json').print();
}

class Printer {
  readonly #pattern: string;
  readonly #isJson: boolean;

  constructor(pattern: string, isJson: boolean) {
    this.#pattern = pattern;
    this.#isJson = isJson;
  }

  print(): string {
    const { alternatives } = this.#parse();
    // Alternatives between the quotes of a string need a group, or only the first and the last would get a quote.
    return this.#choice(alternatives, true, true, this.#isJson && alternatives.length > 1);
  }

  #parse(): AST.Pattern {
    const parser = new RegExpParser({ ecmaVersion: 2024 });
    const parse = (unicode: boolean) => parser.parsePattern(this.#pattern, undefined, undefined, { unicode });
    try {
      return parse(true);
    } catch (error) {
      if (!(error instanceof RegExpSyntaxError)) throw error;
      // Without the flag, escapes that need not be (`\-`) are right, but characters of two units are two.
      try {
        if (!/[^\0-\uffff]|\\u\{|\\p/iu.test(this.#pattern)) return parse(false);
      } catch {}
      const problem = error.message.replace(/^Invalid regular expression: \/.*\/\w*: /s, '');
      const hint = problem === 'Invalid escape' ? '; leave out backslashes that are not needed' : '';
      throw this.#refusal(problem + hint);
    }
  }

  /** @param starts Whether nothing can be before it, and @param ends behind it. */
  #choice(alternatives: readonly AST.Alternative[], starts: boolean, ends: boolean, isGroup: boolean): string {
    const printed = alternatives.map(({ elements }) => this.#sequence(elements, starts, ends));
    const some = alternativesApart(printed.filter((one) => one !== ''));
    if (some.length === 0) return '';
    if (printed.includes('')) return `(?:${some.join('|')})?`;
    return isGroup ? `(?:${some.join('|')})` : some.join('|');
  }

  #sequence(elements: readonly AST.Element[], starts: boolean, ends: boolean): string {
    const isEdge = (element: AST.Element) => element.type === 'Assertion';
    return elements
      .map((element, at) => {
        const isFirst = starts && elements.slice(0, at).every(isEdge);
        const isLast = ends && elements.slice(at + 1).every(isEdge);
        return this.#element(element, isFirst, isLast);
      })
      .join('');
  }

  #element(element: AST.Element, starts: boolean, ends: boolean): string {
    switch (element.type) {
      case 'Character':
        return this.#character(element);
      case 'CharacterClass':
      case 'CharacterSet':
        return this.#class(element);
      case 'Group':
        if (element.modifiers !== null) throw this.#refusal(`"${element.raw}" cannot be enforced; leave out its flags`);
        return this.#choice(element.alternatives, starts, ends, true);
      case 'CapturingGroup':
        return this.#choice(element.alternatives, starts, ends, true);
      case 'Quantifier':
        return this.#quantifier(element, starts, ends);
      case 'Assertion':
        if (element.kind === 'start' && starts) return '';
        if (element.kind === 'end' && ends) return '';
        throw this.#refusal(
          `"${element.raw}" cannot be enforced here; only ^ at the beginning and $ at the end can be`,
        );
      default:
        throw this.#refusal(`"${element.raw}" cannot be enforced; write out what may stand there`);
    }
  }

  #quantifier({ element, min, max }: AST.Quantifier, starts: boolean, ends: boolean): string {
    const isOnce = max <= 1;
    const printed = this.#element(element, starts && isOnce, ends && isOnce);
    if (printed === '' || max === 0) return '';
    if (min === 1 && max === 1) return printed;
    // Of a group that may be empty.
    const operand = printed.endsWith(')?') ? `(?:${printed})` : printed;
    if (max === Number.POSITIVE_INFINITY) return operand + (min === 0 ? '*' : min === 1 ? '+' : `{${min},}`);
    return operand + (min === 0 && max === 1 ? '?' : min === max ? `{${min}}` : `{${min},${max}}`);
  }

  #character({ value, raw }: AST.Character): string {
    if (/^\\[a-zA-Z]$/.test(raw) && raw.codePointAt(1) === value) {
      throw this.#refusal(`"${raw}" is no escape; write the letter without its backslash`);
    }
    const printed = this.#one(value);
    if (printed === undefined) throw this.#refusal('U+0000 cannot be enforced; leave it out');
    return printed;
  }

  /** One character, as one unit. */
  #one(value: number): string | undefined {
    const character = String.fromCodePoint(value);
    if (!this.#isJson || size(intersection([[value, value]], ESCAPED_IN_JSON)) === 0) {
      return value === 0 ? undefined : literal(character);
    }
    return `(?:${Array.from(JSON.stringify(character).slice(1, -1), literal).join('')})`;
  }

  #class(node: AST.CharacterClass | AST.CharacterSet): string {
    const members = node.type === 'CharacterClass' && node.unicodeSets ? undefined : classMembers(node, this.#isJson);
    if (members === undefined) {
      throw this.#refusal(`"${node.raw}" cannot be enforced; write the ranges that you mean, such as [a-zà-ÿ]`);
    }
    const printed = this.#members(members);
    if (printed === undefined) throw this.#refusal(`no character that can be written fits "${node.raw}"`);
    if (printed.length > MAX_PARTS) {
      throw this.#refusal(`"${shorten(node.raw)}" is too many characters beyond ASCII; write fewer, or ranges of them`);
    }
    return printed.length === 1 ? printed[0]! : `(?:${partsApart(printed).join('|')})`;
  }

  /** The parts of a class, each of which is one unit. */
  #members(members: CodePoints): string[] | undefined {
    // A whole half of Unicode goes faster as what is not in it.
    const whole = difference(union(members, SURROGATES, SEPARATORS), ASCII);
    const isWhole = size(whole) === size(BEYOND_ASCII);
    const escaped = this.#isJson ? intersection(members, ESCAPED_IN_JSON) : [];
    const ascii = difference(intersection(members, ASCII), union(escaped, [[0, 0]]));
    const parts = each(escaped).flatMap((value) => this.#one(value) ?? []);
    if (isWhole) parts.unshift(`[^${ranges(difference(ASCII, ascii))}]`);
    else parts.unshift(...asciiClass(ascii), ...beyondAscii(difference(members, ASCII)));
    return parts.length === 0 ? undefined : parts;
  }

  #refusal(problem: string): RxllmError {
    return invalidFormat(`the pattern ${JSON.stringify(shorten(this.#pattern))} cannot be used: ${problem}.`);
  }
}
