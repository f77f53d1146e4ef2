import Type, { type Static } from 'typebox';

/** Closed: a field that is not listed is refused by name. */
const closed = { additionalProperties: false };
const optional = Type.Optional;
const tokenId = Type.Integer({ minimum: 0 });
/** Also the most that a timer takes, in milliseconds. */
const maximum = 2 ** 31 - 1;

/** How one HTTP reply brings its generations; a WebSocket has one generation an id. */
const delivery = {
  stream: optional(Type.Boolean()),
  stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) }, closed)),
  n: optional(Type.Integer({ minimum: 1, maximum: 8 })),
};

const openObject = Type.Record(Type.String(), Type.Unknown());
const jsonSchema = Type.Union([openObject, Type.Boolean()]);

/** What a text must look like; one of these at most. */
const guidance = {
  response_format: optional(
    Type.Object(
      {
        type: Type.Enum(['text', 'json_object', 'json_schema']),
        json_schema: optional(
          Type.Object(
            {
              name: optional(Type.String()),
              description: optional(Type.String()),
              schema: jsonSchema,
              /** A keyword that cannot be enforced is refused; else passed over. */
              strict: optional(Type.Boolean()),
            },
            closed,
          ),
        ),
      },
      closed,
    ),
  ),
  guided_regex: optional(Type.String({ minLength: 1 })),
  guided_choice: optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 1024 })),
  /** EBNF whose rule `root` is the text. */
  guided_grammar: optional(Type.String({ minLength: 1 })),
};

/** Fields of every generation. */
const sampling = {
  ...guidance,
  model: optional(Type.String()),
  max_tokens: optional(Type.Integer({ minimum: 1, maximum })),
  min_tokens: optional(Type.Integer({ minimum: 0, maximum })),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** 0 and -1 keep the whole vocabulary. */
  top_k: optional(Type.Integer({ minimum: -1, maximum })),
  min_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
  frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  /** Beyond these, logits would be no numbers any more. */
  repetition_penalty: optional(Type.Number({ minimum: 0.01, maximum: 100 })),
  /** Token ids as strings, as JSON has it. */
  logit_bias: optional(
    Type.Record(Type.String({ pattern: '^\\d{1,9}$' }), Type.Number({ minimum: -100, maximum: 100 }), closed),
  ),
  seed: optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stop: optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { maxItems: 16 })]),
  ),
  stop_token_ids: optional(Type.Array(tokenId, { maxItems: 16 })),
  ignore_eos: optional(Type.Boolean()),
  /** Milliseconds from arrival; past it the reply ends with `abort`. */
  deadline_ms: optional(Type.Integer({ minimum: 1, maximum })),
  /** Cached prefixes are shared only under the same salt. */
  cache_salt: optional(Type.String({ minLength: 1, maxLength: 256 })),

  // Accepted and without effect: they concern OpenAI's own service.
  user: optional(Type.String()),
  metadata: optional(openObject),
  store: optional(Type.Boolean()),
  service_tier: optional(Type.String()),
};

/** Parts stay open here, so that an image part gets a message of its own. */
const contentPart = Type.Object({ type: Type.String(), text: optional(Type.String()) }, { additionalProperties: true });

const toolName = Type.String({ pattern: '^[a-zA-Z0-9_.-]{1,64}$' });

/** Open where the helpers of clients add fields of their own, such as `parsed_arguments`. */
const toolCall = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.Literal('function'),
  function: Type.Object({ name: toolName, arguments: Type.String() }),
});

const message = Type.Object(
  {
    role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: optional(Type.Union([Type.String(), Type.Array(contentPart)])),
    name: optional(Type.String()),
    /** An assistant's calls, and which of them a `tool` message answers. */
    tool_calls: optional(Type.Array(toolCall, { minItems: 1, maxItems: 128 })),
    tool_call_id: optional(Type.String({ minLength: 1 })),
  },
  closed,
);

const tool = Type.Object(
  {
    type: Type.Literal('function'),
    function: Type.Object(
      {
        name: toolName,
        description: optional(Type.String()),
        parameters: optional(openObject),
        strict: optional(Type.Boolean()),
      },
      closed,
    ),
  },
  closed,
);

const tools = {
  tools: optional(Type.Array(tool, { minItems: 1, maxItems: 128 })),
  tool_choice: optional(
    Type.Union([
      Type.Enum(['none', 'auto', 'required']),
      Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: toolName }, closed) }, closed),
    ]),
  ),
  /** false: one call at most. */
  parallel_tool_calls: optional(Type.Boolean()),
};

const chat = {
  messages: Type.Array(message, { minItems: 1 }),
  max_completion_tokens: optional(Type.Integer({ minimum: 1, maximum })),
  logprobs: optional(Type.Boolean()),
  top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
};

/** How many alternatives beside each chosen token. */
const alternatives = optional(Type.Integer({ minimum: 0, maximum: 20 }));
const tokenIds = Type.Array(tokenId, { minItems: 1 });

export const chatCompletionRequest = Type.Object({ ...sampling, ...delivery, ...chat, ...tools }, closed);

export const completionRequest = Type.Object(
  {
    ...sampling,
    ...delivery,
    prompt: Type.Union([
      Type.String(),
      Type.Array(Type.String(), { minItems: 1, maxItems: 32 }),
      tokenIds,
      Type.Array(tokenIds, { minItems: 1, maxItems: 32 }),
    ]),
    logprobs: alternatives,
    /** The prompt stands before the text. */
    echo: optional(Type.Boolean()),
  },
  closed,
);

export const tokenizeRequest = Type.Object(
  {
    model: optional(Type.String()),
    prompt: optional(Type.String()),
    messages: optional(chat.messages),
    add_special_tokens: optional(Type.Boolean()),
  },
  closed,
);

export const detokenizeRequest = Type.Object({ model: optional(Type.String()), tokens: Type.Array(tokenId) }, closed);

/** Names one generation on its socket. */
const streamId = Type.String({ minLength: 1, maxLength: 128 });

export const cancelMessage = Type.Object({ type: Type.Literal('cancel'), id: streamId }, closed);

const generate = { type: Type.Literal('generate'), id: streamId };

export const generateFromMessages = Type.Object({ ...generate, ...sampling, ...chat }, closed);

export const generateFromPrompt = Type.Object(
  { ...generate, ...sampling, prompt: Type.Union([Type.String(), tokenIds]), logprobs: alternatives },
  closed,
);

export type WireMessage = Static<typeof message>;
export type ToolFields = Pick<ChatCompletionRequest, keyof typeof tools>;
export type ChatFields = Static<typeof generateFromMessages>;
export type PromptFields = Static<typeof generateFromPrompt>;
export type ChatCompletionRequest = Static<typeof chatCompletionRequest>;
export type CompletionRequest = Static<typeof completionRequest>;
export type TokenizeRequest = Static<typeof tokenizeRequest>;
export type DetokenizeRequest = Static<typeof detokenizeRequest>;
/** What all generations have in common, as far as sampling reads it. */
export type SamplingFields = Omit<PromptFields, 'type' | 'id' | 'prompt' | 'logprobs'>;
