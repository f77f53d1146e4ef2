import Type, { type TSchema } from 'typebox';

/** What routes answer, for `/openapi.json`; nothing is checked or cut by them. */

export const errorReply = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.Enum(['invalid_request_error', 'rate_limit_error', 'server_error']),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
});

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const optional = Type.Optional;

const usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
});

/** Throughput in tokens/s, times in milliseconds. */
const metrics = Type.Object({
  throughput: Type.Number(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  ttft_ms: optional(Type.Number()),
  tpot_ms: optional(Type.Number()),
  tokens_proposed: optional(Type.Integer()),
  tokens_accepted: optional(Type.Integer()),
  acceptance_rate: optional(Type.Number()),
});

const finishReason = Type.Enum(['stop', 'length', 'tool_calls', 'abort']);
const calledFunction = Type.Object({ name: Type.String(), arguments: Type.String() });
const toolCall = Type.Object({ id: Type.String(), type: Type.Literal('function'), function: calledFunction });
const toolCallPiece = Type.Object({
  index: Type.Integer(),
  id: optional(Type.String()),
  type: optional(Type.Literal('function')),
  function: Type.Partial(calledFunction),
});

const logprob = { token: Type.String(), logprob: Type.Number(), bytes: nullable(Type.Array(Type.Integer())) };
const chatLogprobs = nullable(
  Type.Object({
    content: Type.Array(Type.Object({ ...logprob, top_logprobs: Type.Array(Type.Object(logprob)) })),
    refusal: Type.Null(),
  }),
);
const completionLogprobs = nullable(
  Type.Object({
    tokens: Type.Array(Type.String()),
    token_logprobs: Type.Array(Type.Number()),
    top_logprobs: Type.Array(Type.Record(Type.String(), Type.Number())),
    text_offset: Type.Array(Type.Integer()),
  }),
);

const frame = <O extends string>(object: O) => ({
  id: Type.String(),
  object: Type.Literal(object),
  created: Type.Integer(),
  model: Type.String(),
});

export const chatCompletion = Type.Object({
  ...frame('chat.completion'),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: nullable(Type.String()),
        refusal: Type.Null(),
        tool_calls: optional(Type.Array(toolCall)),
      }),
      logprobs: chatLogprobs,
      finish_reason: finishReason,
    }),
  ),
  usage,
  metrics,
});

export const chatCompletionChunk = Type.Object({
  ...frame('chat.completion.chunk'),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Type.Object({
        role: optional(Type.Literal('assistant')),
        content: optional(Type.String()),
        tool_calls: optional(Type.Array(toolCallPiece)),
      }),
      logprobs: chatLogprobs,
      finish_reason: nullable(finishReason),
    }),
  ),
  usage: optional(usage),
  metrics: optional(metrics),
});

const completionChoice = {
  index: Type.Integer(),
  text: Type.String(),
  logprobs: completionLogprobs,
};

export const completion = Type.Object({
  ...frame('text_completion'),
  choices: Type.Array(Type.Object({ ...completionChoice, finish_reason: finishReason })),
  usage,
  metrics,
});

export const completionChunk = Type.Object({
  ...frame('text_completion'),
  choices: Type.Array(Type.Object({ ...completionChoice, finish_reason: nullable(finishReason) })),
  usage: optional(usage),
  metrics: optional(metrics),
});

export const model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  max_model_len: Type.Integer(),
});

export const modelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(model) });
export const tokens = Type.Object({
  tokens: Type.Array(Type.Integer()),
  count: Type.Integer(),
  max_model_len: Type.Integer(),
});
export const detokenized = Type.Object({ prompt: Type.String() });
export const healthy = Type.Object({ status: Type.Literal('ok') });
export const engineState = Type.Object({
  engine: Type.String(),
  runtime: Type.String(),
  engines: Type.Array(Type.String()),
});
