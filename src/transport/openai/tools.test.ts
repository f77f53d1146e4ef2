import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { TAGGED_CALL } from '../../core/text/tool-call-form.ts';
import { buildServer } from '../server.ts';
import type { ToolFields } from './schemas.ts';
import { toToolUse } from './tool-use.ts';

const tool = (name: string, parameters?: object) => ({
  type: 'function',
  function: { name, ...(parameters && { parameters }) },
});
const parameters = { type: 'object', properties: { city: { type: 'string', default: null } } };
const TOOLS = [tool('weather', parameters), tool('time')];
const CALL = [
  'Well. ',
  '<tool_call>\n',
  '{"name": "weather", "argu',
  'ments": {"city": ',
  '"Bern"}',
  '}\n</tool_call>',
];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function ask(body: object, pieces: readonly string[] = ['ok'], finish: Parameters<typeof say>[1] = {}) {
  const engine = fakeEngine(() => say(pieces, finish), { maxModelLen: 1024 });
  const app = buildServer({ engine: () => engine });
  const payload = { messages: [{ role: 'user', content: 'hi' }], ...body };
  const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  await app.close();
  return { reply, request: engine.requests[0] };
}

describe('what the engine is asked', () => {
  const tools = [{ name: 'weather', parameters }, { name: 'time' }];
  it.each([
    [{ tools: TOOLS }, tools, { type: 'tool_calls', tools, required: false, parallel: true }],
    [
      { tools: TOOLS, tool_choice: 'auto', parallel_tool_calls: false },
      tools,
      { type: 'tool_calls', tools, required: false, parallel: false },
    ],
    [{ tools: TOOLS, tool_choice: 'required' }, tools, { type: 'tool_calls', tools, required: true, parallel: true }],
    [{ tools: TOOLS, tool_choice: 'none' }, undefined, undefined],
    [
      { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'time' } } },
      tools,
      { type: 'tool_calls', tools: [{ name: 'time' }], required: true, parallel: false },
    ],
    [{ tool_choice: 'none' }, undefined, undefined],
    [
      { tool_choice: 'none', tools: TOOLS, response_format: { type: 'json_object' } },
      undefined,
      { type: 'json_object' },
    ],
  ])('%j', async (body, told, format) => {
    const { reply, request } = await ask(body);
    expect(reply.statusCode).toBe(200);
    expect(request?.tools).toEqual(told);
    expect(request?.params?.responseFormat).toEqual(format);
  });

  it('calls and results of earlier turns, and a developer', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
    const { request } = await ask({
      messages: [
        { role: 'developer', content: 'Be short.' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'rain' }] },
      ],
    });
    expect(request?.prompt).toEqual([
      { role: 'developer', content: 'Be short.' },
      { role: 'assistant', content: null, toolCalls: [{ id: 'call_1', ...call.function }] },
      { role: 'tool', content: 'rain', toolCallId: 'call_1' },
    ]);
  });
});

describe('what is refused', () => {
  it.each([1_000, 50_000])('parameters whose parts lie in each other %i deep', (depth) => {
    const deep = JSON.parse(`${'{"items":'.repeat(depth)}{}${'}'.repeat(depth)}`);
    const tools = [tool('time'), tool('weather', deep)] as NonNullable<ToolFields['tools']>;
    expect(() => toToolUse({ tools })).toThrow(
      expect.objectContaining({ code: 'RXLLM_INVALID_REQUEST', param: 'tools[1].function.parameters' }),
    );
  });

  it.each([
    [{ tools: [] }, 'tools', 'must NOT have fewer than 1 items'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].function', 'this field is required'],
    [{ tools: [tool('a b')] }, 'tools[0].function.name', 'must match pattern'],
    [{ tools: [tool('a'), tool('a')] }, 'tools[1].function.name', 'there are two tools "a"'],
    [{ tool_choice: 'required' }, 'tool_choice', 'there are no tools to choose from'],
    [{ tools: TOOLS, tool_choice: 'always' }, 'tool_choice', 'must be one of "none", "auto", "required"'],
    [
      { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'x' } } },
      'tool_choice.function.name',
      'there is no tool "x"; there is weather, time',
    ],
    [{ tools: TOOLS, response_format: { type: 'json_object' } }, 'response_format', 'a reply that may call tools'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'says which call it answers'],
    [{ messages: [{ role: 'user', content: 'x', tool_call_id: 'a' }] }, 'messages[0].tool_call_id', 'answers no call'],
    [{ messages: [{ role: 'assistant', tool_calls: [] }] }, 'messages[0].tool_calls', 'must NOT have fewer'],
  ])('%j names %s', async (body, param, message) => {
    const { reply, request } = await ask(body);
    expect(reply.statusCode).toBe(400);
    expect(reply.json().error.param).toBe(param);
    expect(reply.json().error.message).toContain(message);
    expect(request).toBeUndefined();
  });
});

describe('what the client is told', () => {
  const called = { name: 'weather', arguments: '{"city": "Bern"}' };

  it('calls as OpenAI writes them', async () => {
    const { reply } = await ask({ tools: TOOLS }, CALL);
    const [choice] = reply.json().choices;
    expect(choice.finish_reason).toBe('tool_calls');
    expect(choice.message).toEqual({
      role: 'assistant',
      content: 'Well. ',
      refusal: null,
      tool_calls: [{ id: expect.stringMatching(/^call_\w+$/), type: 'function', function: called }],
    });
  });

  it('and streamed: the name first, then the arguments in pieces', async () => {
    const { reply } = await ask({ tools: TOOLS, stream: true }, CALL);
    const chunks = [...reply.payload.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!).choices[0]);
    expect(chunks.map(({ delta }) => delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'Well. ' },
      {
        tool_calls: [
          { index: 0, id: expect.any(String), type: 'function', function: { name: 'weather', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"city": ' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] },
      {},
    ]);
    expect(chunks.at(-1).finish_reason).toBe('tool_calls');
  });

  it('a call that is cut ends with length', async () => {
    const { reply } = await ask({ tools: TOOLS }, CALL.slice(1, 4), { reason: 'length' });
    const [choice] = reply.json().choices;
    expect(choice.finish_reason).toBe('length');
    expect(choice.message.tool_calls[0].function).toEqual({ name: 'weather', arguments: '{"city": ' });
  });

  const text = CALL.slice(1).join('');
  const end = text.length - TAGGED_CALL.end.length;
  it.each([
    ['max_tokens cuts it', 'length', text.length - 1, 'length'],
    ['a stop string cuts its arguments', 'stop', end, 'stop'],
    ['a stop string stands behind its arguments', 'stop', end + 1, 'tool_calls'],
    ['a stop string cuts the arguments of the next one', 'stop', text.length + end, 'stop'],
    ['a stop string cuts the name of the next one', 'stop', text.length + 20, 'tool_calls'],
  ] as const)('%s: %s at %i ends with %s', async (_name, reason, length, told) => {
    const { reply } = await ask({ tools: TOOLS }, [text.repeat(2).slice(0, length)], { reason });
    const [{ message, finish_reason: finish }] = reply.json().choices;
    expect(finish).toBe(told);
    const readable = message.tool_calls.every((call: { function: { arguments: string } }) =>
      isJson(call.function.arguments),
    );
    if (told === 'tool_calls') expect(readable).toBe(true);
  });

  it.each(['length', 'stop'] as const)('the same, whole and streamed, wherever %s cuts it', async (cutBy) => {
    for (let length = 1; length < text.length; length += 8) {
      const cut = [text.slice(0, length)];
      const { reply: whole } = await ask({ tools: TOOLS }, cut, { reason: cutBy });
      const { reply: streamed } = await ask({ tools: TOOLS, stream: true }, cut, { reason: cutBy });
      const { message, finish_reason: reason } = whole.json().choices[0];
      expect(message.content || message.tool_calls).toBeTruthy();
      const chunks = [...streamed.payload.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!).choices[0]);
      expect(chunks.at(-1).finish_reason).toBe(reason);
      expect(chunks.map(({ delta }) => delta.content ?? '').join('')).toBe(message.content ?? '');
      const parts = chunks.flatMap(({ delta }) => delta.tool_calls ?? []);
      expect(parts.map((part) => part.function.arguments).join('')).toBe(
        message.tool_calls?.[0].function.arguments ?? '',
      );
    }
  });

  it('text in the form of a call is text where there are no tools', async () => {
    const { reply } = await ask({}, CALL);
    expect(reply.json().choices[0]).toMatchObject({ message: { content: CALL.join('') }, finish_reason: 'stop' });
  });

  it('log-probabilities stand with the first piece of their token', async () => {
    const logprobs = CALL.map((text) => ({ id: text.charCodeAt(0), logprob: -1, top: [] }));
    const { reply } = await ask({ tools: TOOLS, stream: true, logprobs: true }, CALL, { logprobs });
    const chunks = [...reply.payload.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!).choices[0]);
    expect(chunks.filter((chunk) => chunk.logprobs !== null)).toHaveLength(CALL.length);
  });
});
