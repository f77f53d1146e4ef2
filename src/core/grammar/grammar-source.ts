import type { JsonSchema, ResponseFormat, Tool, ToolCallForm } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { choiceText } from './choice-text.ts';
import { countedRepeats } from './counted-repeats.ts';
import { refuseWideClasses } from './ebnf-classes.ts';
import { refuseDeepGroups } from './group-depth.ts';
import { toSchemaText } from './json-schema.ts';
import { toXGrammarPattern } from './pattern.ts';
import { repeats } from './repeats.ts';
import { refuseHalfCharacters } from './well-formed.ts';

/** A format that not any text will do for. */
export type GrammarFormat = Exclude<ResponseFormat, { readonly type: 'text' }>;

/** What a grammar is compiled from: plain data, so that it can be sent to a thread. */
export type GrammarSource =
  | JsonSource
  | { readonly type: 'regex'; readonly pattern: string }
  | { readonly type: 'ebnf'; readonly text: string }
  | {
      readonly type: 'tool_calls';
      readonly form: ToolCallForm;
      readonly tools: readonly { readonly name: string; readonly arguments: JsonSource }[];
      readonly required: boolean;
      readonly parallel: boolean;
    };

export interface JsonSource {
  readonly type: 'json';
  /** JSON text of the schema. */
  readonly schema: string;
  /** Whether objects may have properties that the schema does not name, where it does not say. */
  readonly open: boolean;
}

/** Characters of a schema, a pattern or a grammar, those of all tools together: what is compiled grows faster than they do. */
export const MAX_GRAMMAR_LENGTH = 32 * 1024;
/** Those of a source, in which the classes of patterns are written out. */
const MAX_SOURCE_LENGTH = 8 * MAX_GRAMMAR_LENGTH;
/** What the counted repetitions of a schema, a pattern or a grammar may multiply to: each is written out. */
export const MAX_REPEATS = 4096;

const ANY_OBJECT: JsonSource = { type: 'json', schema: '{"type":"object"}', open: true };

/**
 * The source of a format's grammar. What is nested too deep for this has no key already.
 * @throws RxllmError `RXLLM_GRAMMAR_TOO_LARGE`, `RXLLM_GRAMMAR_INVALID`
 */
export function grammarSource(format: GrammarFormat, form: ToolCallForm): GrammarSource {
  refuseHalfCharacters(format);
  const length = lengthOf(format);
  if (length > MAX_GRAMMAR_LENGTH) {
    throw tooLarge(`it has ${length} characters; at most ${MAX_GRAMMAR_LENGTH} are compiled`, KINDS[format.type]);
  }
  const count = repeatsOf(format);
  if (count > MAX_REPEATS) {
    const problem = `its counted repetitions come to ${count} when written out; at most ${MAX_REPEATS} are compiled`;
    throw tooLarge(problem, KINDS[format.type]);
  }
  const source = sourceOf(format, form);
  const written = JSON.stringify(source).length;
  if (written > MAX_SOURCE_LENGTH) {
    const problem = `its patterns come to ${written} characters when their classes are written out; at most ${MAX_SOURCE_LENGTH} are compiled`;
    throw tooLarge(problem, source.type);
  }
  return source;
}

/** What each format becomes. */
const KINDS: Record<GrammarFormat['type'], GrammarSource['type']> = {
  json_object: 'json',
  json_schema: 'json',
  regex: 'regex',
  choice: 'ebnf',
  grammar: 'ebnf',
  tool_calls: 'tool_calls',
};

/** How each kind gets smaller. */
const SMALLER: Record<GrammarSource['type'], string> = {
  json: 'lower the maxLength and maxItems of the schema, or split it',
  regex: 'shorten the pattern, or lower its counts',
  ebnf: 'give fewer rules or choices, or lower their counts',
  tool_calls: "give fewer tools, or lower the maxLength and maxItems of their parameters' schemas",
};

export function tooLarge(problem: string, type: GrammarSource['type']): RxllmError {
  const message = `responseFormat: ${problem}. Make it smaller: ${SMALLER[type]}.`;
  return new RxllmError('RXLLM_GRAMMAR_TOO_LARGE', message, { param: 'responseFormat' });
}

function sourceOf(format: GrammarFormat, form: ToolCallForm): GrammarSource {
  switch (format.type) {
    case 'json_object':
      return ANY_OBJECT;
    case 'json_schema':
      return json(format.schema, format.strict ?? true);
    case 'regex':
      return regex(toXGrammarPattern(format.pattern, 'text'));
    case 'choice':
      return { type: 'ebnf', text: `root ::= ${choiceText(format.choices)}` };
    case 'grammar':
      refuseDeepGroups(format.grammar, 'ebnf');
      refuseWideClasses(format.grammar);
      return { type: 'ebnf', text: format.grammar };
    case 'tool_calls':
      return {
        type: 'tool_calls',
        form,
        tools: format.tools.map((tool) => ({ name: tool.name, arguments: argumentsOf(tool) })),
        required: format.required,
        parallel: format.parallel,
      };
  }
}

/** XGrammar takes no pattern that is empty. */
const regex = (pattern: string): GrammarSource =>
  pattern === '' ? { type: 'ebnf', text: 'root ::= ""' } : { type: 'regex', pattern };

const json = (schema: JsonSchema, strict: boolean): JsonSource => ({
  type: 'json',
  schema: toSchemaText(schema, strict),
  open: false,
});

function argumentsOf({ parameters, strict = false }: Tool): JsonSource {
  if (parameters === undefined || Object.keys(parameters).length === 0) return ANY_OBJECT;
  return json(parameters, strict);
}

function lengthOf(format: GrammarFormat): number {
  switch (format.type) {
    case 'json_object':
      return 0;
    case 'json_schema':
      return JSON.stringify(format.schema).length;
    case 'regex':
      return format.pattern.length;
    case 'choice':
      return JSON.stringify(format.choices).length;
    case 'grammar':
      return format.grammar.length;
    case 'tool_calls':
      return JSON.stringify(format.tools.map(({ name, parameters }) => [name, parameters])).length;
  }
}

function repeatsOf(format: GrammarFormat): number {
  switch (format.type) {
    case 'json_schema':
      return repeats(format.schema);
    case 'regex':
      return countedRepeats(format.pattern, 'regex');
    case 'grammar':
      return countedRepeats(format.grammar, 'ebnf');
    case 'tool_calls':
      return format.tools.reduce((sum, { parameters = true }) => sum + repeats(parameters), 0);
    default:
      return 0;
  }
}
