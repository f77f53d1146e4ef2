import type { ChatMessage, Tool, ToolCall } from '../contracts/index.ts';
import { TAGGED_CALL } from './tool-call-form.ts';

/** As OpenAI describes a tool, which is what templates expect. */
export function toTemplateTool({ name, description, parameters }: Tool) {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  };
}

/** A message for a template that knows tools; templates write arguments as JSON themselves. */
export function toToolMessage({ role, content, toolCalls, toolCallId, name }: ChatMessage) {
  return {
    role,
    content: content ?? '',
    ...(toolCalls && {
      tool_calls: toolCalls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: parsed(call.arguments) },
      })),
    }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(name !== undefined && { name }),
  };
}

/**
 * The same chat in the words of a template that knows no tools, as the Hermes models have it: the tools stand in the
 * system message, calls in the assistant's text, and results, those of one turn together, are the user's.
 */
export function withoutTools(messages: readonly ChatMessage[], tools: readonly Tool[]): ChatMessage[] {
  const plain: ChatMessage[] = [];
  for (const message of messages) {
    const { role, content, toolCalls } = message;
    const last = plain.at(-1);
    if (role === 'tool') {
      const result = `<tool_response>\n${content ?? ''}\n</tool_response>`;
      const follows = last?.role === 'user' && last.content?.endsWith('</tool_response>');
      if (follows) plain[plain.length - 1] = { role: 'user', content: `${last.content}\n${result}` };
      else plain.push({ role: 'user', content: result });
    } else {
      const said = toolCalls
        ? [content ?? '', ...toolCalls.map(written)].filter((text) => text !== '').join('\n')
        : content;
      plain.push({ role, content: said });
    }
  }
  if (tools.length === 0) return plain;
  const [first, ...rest] = plain;
  const isSystem = first?.role === 'system' || first?.role === 'developer';
  const instructions = instructionsFor(tools);
  return isSystem
    ? [{ role: first.role, content: `${first.content ?? ''}\n\n${instructions}` }, ...rest]
    : [{ role: 'system', content: instructions }, ...plain];
}

function instructionsFor(tools: readonly Tool[]): string {
  const { begin, middle, end } = TAGGED_CALL;
  return [
    'You can call these functions, whose signatures are in JSON:',
    '<tools>',
    ...tools.map((tool) => JSON.stringify(toTemplateTool(tool))),
    '</tools>',
    'To call one, answer with its name and its arguments:',
    `${begin}NAME${middle}{ARGUMENTS}${end}`,
  ].join('\n');
}

function written({ name, arguments: json }: ToolCall): string {
  return `${TAGGED_CALL.begin}${name}${TAGGED_CALL.middle}${json}${TAGGED_CALL.end}`;
}

/** What a client sends back as arguments may be anything. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
