import type { GrammarFormat } from './grammar-source.ts';
import { refuseDeepNesting } from './nesting.ts';

/**
 * Under what the grammar of a format is kept: without a look at its patterns and schemas, so that a format that comes
 * again costs nothing but this. Descriptions of tools are left out: no grammar depends on them.
 * @throws RxllmError `RXLLM_GRAMMAR_TOO_LARGE` for what is nested too deep
 */
export function grammarKey(format: GrammarFormat): string {
  refuseDeepNesting(format);
  if (format.type !== 'tool_calls') return JSON.stringify(format);
  return JSON.stringify({ ...format, tools: format.tools.map(({ description, ...tool }) => tool) });
}
