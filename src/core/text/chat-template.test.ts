import { describe, expect, it } from 'vitest';
import { createChatTemplate } from './chat-template.ts';
import { BARE_CALL, TAGGED_CALL, toolCallFormOf } from './tool-call-form.ts';

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

describe('tools', () => {
  const tools = [{ name: 'f', description: 'd', parameters: { type: 'object' } }];
  const call = { id: 'c1', name: 'f', arguments: '{"a": 1}' };
  const chat = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, toolCalls: [call, { ...call, id: 'c2' }] },
    { role: 'tool', content: 'one', toolCallId: 'c1' },
    { role: 'tool', content: 'two', toolCallId: 'c2' },
  ] as const;

  it('go to a template that knows them, with calls and their answers', () => {
    const render = template(
      '{{ tools | tojson }}{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.id }}{{ c.function.arguments.a }}{% endfor %}{{ m.tool_call_id }}{% endfor %}',
    );
    const told = [{ type: 'function', function: tools[0] }];
    const text = render(chat, { ...noPrompt, tools });
    expect(text).toMatch(/c11c21c1c2$/);
    expect(JSON.parse(text.replace(/c11c21c1c2$/, ''))).toEqual(told);
    expect(template('{% if tools is none %}none{% endif %}')([], noPrompt)).toBe('none');
  });

  it('stand in the system message of a template that does not, calls and answers in plain text', () => {
    const text = template(chatml)(chat, { ...noPrompt, tools });
    expect(text).toContain('[system]Be short.\n\nYou can call these functions');
    expect(text).toContain(
      '{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}',
    );
    const written = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>';
    expect(text).toContain(`[assistant]${written}\n${written}</s>`);
    expect(text).toContain('[user]<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response></s>');
  });

  it('bring a system message where there is none', () => {
    expect(template(chatml)([{ role: 'user', content: 'Hi' }], { ...noPrompt, tools })).toMatch(
      /^\[system\]You can call [\s\S]*\[user\]Hi<\/s>$/,
    );
  });

  it('the form of a call is the template’s', () => {
    expect(toolCallFormOf(undefined)).toBe(TAGGED_CALL);
    expect(toolCallFormOf(chatml)).toBe(TAGGED_CALL);
    expect(toolCallFormOf('{{ \'{"name": "\' + tool_call.name + \'", \' }}{{ \'"parameters": \' }}')).toBe(BARE_CALL);
  });
});
