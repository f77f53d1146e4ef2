import type { ChatMessage } from '../../core/contracts/index.ts';
import { invalidField } from '../errors.ts';
import type { WireMessage } from './schemas.ts';

/**
 * Content as a string or as text parts, which are joined; an assistant's may be missing.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for other parts, for missing content, and for calls and answers out of place
 */
export function toChatMessages(messages: readonly WireMessage[]): readonly ChatMessage[] {
  return messages.map((message, index) => {
    const { role, name, tool_calls: calls, tool_call_id: toolCallId } = message;
    const field = `messages[${index}]`;
    if (calls !== undefined && role !== 'assistant') {
      throw invalidField(`${field}.tool_calls`, `a message of role "${role}" makes no calls`);
    }
    if ((toolCallId === undefined) === (role === 'tool')) {
      const problem = role === 'tool' ? 'says which call it answers' : 'answers no call';
      throw invalidField(`${field}.tool_call_id`, `a message of role "${role}" ${problem}`);
    }
    return {
      role,
      content: contentOf(message, `${field}.content`),
      ...(name !== undefined && { name }),
      ...(toolCallId !== undefined && { toolCallId }),
      ...(calls && { toolCalls: calls.map((call) => ({ id: call.id, ...call.function })) }),
    };
  });
}

function contentOf({ role, content }: WireMessage, field: string): string | null {
  if (typeof content === 'string') return content;
  if (content !== undefined) return content.map((part, at) => textOf(part, `${field}[${at}]`)).join('');
  if (role === 'assistant') return null;
  throw invalidField(field, `a message of role "${role}" needs content`);
}

function textOf(part: { readonly type: string; readonly text?: string }, field: string): string {
  if (part.type !== 'text') {
    throw invalidField(`${field}.type`, `"${part.type}" parts are not supported; this model reads text only`);
  }
  if (part.text === undefined) throw invalidField(`${field}.text`, 'a text part needs its text');
  return part.text;
}
