import { Template } from '@huggingface/jinja';
import type { ChatMessage, Tool } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { toTemplateTool, toToolMessage, withoutTools } from './tool-messages.ts';

export interface ChatTemplateOptions {
  /** Jinja source; undefined when the model has none. */
  readonly source: string | undefined;
  readonly bosToken: string | undefined;
  readonly eosToken: string | undefined;
}

export type ChatTemplate = (
  messages: readonly ChatMessage[],
  options: { readonly addGenerationPrompt: boolean; readonly tools?: readonly Tool[] },
) => string;

/**
 * A model's chat template, compiled at its first use. Content that is null is passed as empty text; the role
 * `developer` is passed as `system` to templates that do not know it. Tools go to a template that knows them, else into
 * the system message.
 * The result throws RxllmError `RXLLM_CHAT_TEMPLATE_MISSING`, `RXLLM_CHAT_TEMPLATE_FAILED`.
 */
export function createChatTemplate({ source, bosToken, eosToken }: ChatTemplateOptions): ChatTemplate {
  let compiled: Template | undefined;
  const knowsDeveloper = source?.includes('developer') ?? false;
  const knowsTools = /\btools\b/.test(source ?? '');
  const toTemplate = (message: ChatMessage) => ({
    ...toToolMessage(message),
    role: message.role === 'developer' && !knowsDeveloper ? 'system' : message.role,
  });
  return (messages, { addGenerationPrompt, tools = [] }) => {
    if (source === undefined) {
      const advice = 'send a text prompt (/v1/completions), or add chat_template.jinja to the folder of the model.';
      throw new RxllmError('RXLLM_CHAT_TEMPLATE_MISSING', `The model has no chat template: ${advice}`);
    }
    try {
      compiled ??= new Template(source);
      return compiled.render({
        messages: (knowsTools ? messages : withoutTools(messages, tools)).map(toTemplate),
        add_generation_prompt: addGenerationPrompt,
        bos_token: bosToken ?? '',
        eos_token: eosToken ?? '',
        // transformers passes these too: templates ask `tools is not none`.
        tools: knowsTools && tools.length > 0 ? tools.map(toTemplateTool) : null,
        documents: null,
      });
    } catch (cause) {
      const message = `The chat template refused the messages: ${(cause as Error).message}`;
      throw new RxllmError('RXLLM_CHAT_TEMPLATE_FAILED', message, { param: 'messages', cause });
    }
  };
}
