import type { ToolCallForm } from '../contracts/index.ts';

/** As the Hermes models write it, and after them Qwen and SmolLM; also what a model is taught whose template knows no tools. */
export const TAGGED_CALL: ToolCallForm = {
  begin: '<tool_call>\n{"name": "',
  middle: '", "arguments": ',
  end: '}\n</tool_call>',
  trigger: '<tool_call>',
};

/** As Llama 3.1 and its successors write it: bare JSON. */
export const BARE_CALL: ToolCallForm = {
  begin: '{"name": "',
  middle: '", "parameters": ',
  end: '}',
  trigger: '{"name": "',
};

/** The form that a chat template teaches; `source` is its text. */
export function toolCallFormOf(source: string | undefined): ToolCallForm {
  const isBare = source !== undefined && !source.includes('<tool_call>') && source.includes('"parameters": ');
  return isBare ? BARE_CALL : TAGGED_CALL;
}
