import type * as XGrammar from '@mlc-ai/web-xgrammar';
import type { GrammarSource, JsonSource } from './grammar-source.ts';
import { fillRanges } from './integer-text.ts';

/** One line, and nothing that may repeat without end: neither white space nor indentation. */
const ANY_WHITESPACE = false;
const ONE_LINE = -1;
const SEPARATORS: [string, string] = [', ', ': '];

/** XGrammar writes `\xe9`, and reads that with as many hexadecimal digits as follow. */
const ESCAPES = /\\(?:x([\da-f]{2})|.)/g;

/** Compiles a source for the compiler's vocabulary. Throws whatever XGrammar throws, and after that its instance is broken. */
export async function compileGrammar(
  xgrammar: typeof XGrammar,
  compiler: XGrammar.GrammarCompiler,
  source: GrammarSource,
): Promise<XGrammar.CompiledGrammar> {
  switch (source.type) {
    case 'json':
      return compiler.compileGrammar(await ebnfOf(xgrammar, source));
    case 'ebnf':
      return compiler.compileGrammar(source.text);
    case 'regex':
      return compiler.compileStructuralTag({ type: 'regex', pattern: source.pattern });
    case 'tool_calls':
      return compiler.compileStructuralTag(await toolCalls(xgrammar, source));
  }
}

async function toolCalls(
  xgrammar: typeof XGrammar,
  { form, tools, required, parallel }: Extract<GrammarSource, { type: 'tool_calls' }>,
): Promise<XGrammar.StructuralTagFormat> {
  const tags = await Promise.all(
    tools.map(async (tool) => ({
      type: 'tag' as const,
      begin: `${form.begin}${tool.name}${form.middle}`,
      // Not the tag's own JSON format, which allows any white space.
      content: { type: 'grammar' as const, grammar: await ebnfOf(xgrammar, tool.arguments) },
      end: form.end,
    })),
  );
  return required
    ? { type: 'tags_with_separator', tags, separator: '\n', at_least_one: true, stop_after_first: !parallel }
    : { type: 'triggered_tags', triggers: [form.trigger], tags, stop_after_first: !parallel };
}

async function ebnfOf({ Grammar }: typeof XGrammar, { schema, open }: JsonSource): Promise<string> {
  const grammar = await Grammar.fromJSONSchema(schema, ANY_WHITESPACE, ONE_LINE, SEPARATORS, !open);
  const text = grammar.toString();
  return fillRanges(text.replaceAll(ESCAPES, (found, byte?: string) => (byte === undefined ? found : `\\u00${byte}`)));
}
