import { describe, expect, it } from 'vitest';
import { createChatTemplate } from './chat-template.ts';

const chatml = "{% for m in messages %}[{{ m.role }}]{{ m['content'] + eos_token }}{% endfor %}";
const template = (source: string | undefined) => createChatTemplate({ source, bosToken: '<s>', eosToken: '</s>' });
const noPrompt = { addGenerationPrompt: false };

describe('createChatTemplate', () => {
  it('passes messages, tokens and the generation prompt', () => {
    const render = template('{{ bos_token }}{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}');
    expect(render([{ role: 'user', content: 'Hi' }], { addGenerationPrompt: true })).toBe('<s>Hi>');
    expect(render([{ role: 'user', content: 'Ho' }], noPrompt)).toBe('<s>Ho');
  });

  it('takes content that is null as empty', () => {
    expect(template(chatml)([{ role: 'assistant', content: null }], noPrompt)).toBe('[assistant]</s>');
  });

  it('passes developer as system unless the template knows it', () => {
    const messages = [{ role: 'developer', content: 'x' }] as const;
    expect(template(chatml)(messages, noPrompt)).toBe('[system]x</s>');
    expect(template(`{# developer #}${chatml}`)(messages, noPrompt)).toBe('[developer]x</s>');
  });

  it('tells what a template that raises says, and goes on working', () => {
    const source = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}ok`;
    const render = template(source);
    expect(() => render([{ role: 'system', content: 'x' }], noPrompt)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_CHAT_TEMPLATE_FAILED',
        status: 400,
        message: expect.stringContaining('System role not supported'),
      }),
    );
    expect(render([{ role: 'user', content: 'x' }], noPrompt)).toBe('ok');
  });

  it('a template that is not Jinja fails when it is used', () => {
    const render = template('{% if %}');
    expect(() => render([], noPrompt)).toThrow(expect.objectContaining({ code: 'RXLLM_CHAT_TEMPLATE_FAILED' }));
  });

  it('says what to do where there is none', () => {
    expect(() => template(undefined)([], noPrompt)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_CHAT_TEMPLATE_MISSING',
        message: expect.stringContaining('chat_template.jinja'),
      }),
    );
  });
});
