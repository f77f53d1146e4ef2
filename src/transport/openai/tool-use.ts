import type { Tool, ToolCallFormat } from '../../core/contracts/index.ts';
import { isNestedTooDeep, MAX_NESTING } from '../../core/grammar/nesting.ts';
import { invalidField } from '../errors.ts';
import type { ToolFields } from './schemas.ts';

export interface ToolUse {
  /** What the model is told of: nothing where it is not to call. */
  readonly tools?: readonly Tool[];
  /** How its calls must look, and whether it must make any. */
  readonly format?: ToolCallFormat;
}

/** @throws RxllmError `RXLLM_INVALID_REQUEST` for a choice that the tools do not offer, and for parameters that lie too deep */
export function toToolUse({
  tools: wireTools,
  tool_choice: choice = 'auto',
  parallel_tool_calls: parallel = true,
}: ToolFields): ToolUse {
  if (wireTools === undefined) {
    if (typeof choice === 'string' && choice !== 'required') return {};
    throw invalidField('tool_choice', 'there are no tools to choose from; give "tools"');
  }
  const tools = wireTools.map((tool): Tool => {
    const { name, description, parameters, strict } = tool.function;
    return {
      name,
      ...(description !== undefined && { description }),
      ...(parameters && { parameters }),
      ...(strict !== undefined && { strict }),
    };
  });
  const deep = tools.findIndex(({ parameters }) => isNestedTooDeep(parameters));
  if (deep !== -1) {
    throw invalidField(`tools[${deep}].function.parameters`, `they are nested more than ${MAX_NESTING} deep`);
  }
  const names = tools.map(({ name }) => name);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice !== -1) throw invalidField(`tools[${twice}].function.name`, `there are two tools "${names[twice]}"`);

  if (choice === 'none') return {};
  if (typeof choice === 'string') {
    return { tools, format: { type: 'tool_calls', tools, required: choice === 'required', parallel } };
  }
  const chosen = tools.filter(({ name }) => name === choice.function.name);
  if (chosen.length === 0) {
    throw invalidField(
      'tool_choice.function.name',
      `there is no tool "${choice.function.name}"; there is ${names.join(', ')}`,
    );
  }
  return { tools, format: { type: 'tool_calls', tools: chosen, required: true, parallel: false } };
}
