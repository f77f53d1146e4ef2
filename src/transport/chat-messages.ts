import type { ChatMessage } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import type { WireMessage } from './schemas.ts';

/**
 * Content as a string or as text parts, which are joined; an assistant's may be missing.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for other parts and for missing content
 */
export function toChatMessages(messages: readonly WireMessage[]): readonly ChatMessage[] {
  return messages.map(({ role, content }, index) => {
    const field = `messages[${index}].content`;
    if (content === undefined) {
      if (role === 'assistant') return { role, content: null };
      throw invalid(field, `a message of role "${role}" needs content`);
    }
    if (typeof content === 'string') return { role, content };
    return { role, content: content.map((part, at) => textOf(part, `${field}[${at}]`)).join('') };
  });
}

function textOf(part: { readonly type: string; readonly text?: string }, field: string): string {
  if (part.type !== 'text') {
    throw invalid(`${field}.type`, `"${part.type}" parts are not supported; this model reads text only`);
  }
  if (part.text === undefined) throw invalid(`${field}.text`, 'a text part needs its text');
  return part.text;
}

function invalid(param: string, message: string): RxllmError {
  return new RxllmError('RXLLM_INVALID_REQUEST', `${param}: ${message}.`, { param });
}
