import Type, { type Static } from 'typebox';
import type { TokenId, Tokenizer } from '../contracts/index.ts';
import { createChatTemplate } from '../text/chat-template.ts';
import { createTokenizer, type TokenizerJson } from '../text/tokenizer.ts';
import { toolCallFormOf } from '../text/tool-call-form.ts';
import { checkJson, readJson, readJsonIfPresent, readTextIfPresent } from './read-json.ts';

const specialToken = Type.Union([Type.String(), Type.Object({ content: Type.String() })]);
const namedTemplate = Type.Object({ name: Type.String(), template: Type.String() });
const tokenizerConfigSchema = Type.Object({
  bos_token: Type.Optional(specialToken),
  eos_token: Type.Optional(specialToken),
  chat_template: Type.Optional(Type.Union([Type.String(), Type.Array(namedTemplate)])),
});
const tokenizerSchema = Type.Object({
  model: Type.Object({ vocab: Type.Unknown() }),
  added_tokens: Type.Array(
    Type.Object({
      id: Type.Integer({ minimum: 0 }),
      content: Type.String({ minLength: 1 }),
      special: Type.Optional(Type.Boolean()),
    }),
  ),
  decoder: Type.Optional(Type.Object({ type: Type.String() })),
});

/**
 * The tokenizer of a folder: `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja`, of which the last two
 * may be absent. Without `eosIds` the tokenizer's own `eos_token` ends a reply.
 * @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`
 */
export async function loadTokenizer(directory: string, eosIds: readonly TokenId[] | undefined): Promise<Tokenizer> {
  const json = await readJson(directory, 'tokenizer.json');
  const { added_tokens: addedTokens } = checkJson(tokenizerSchema, json, 'tokenizer.json');
  const rawConfig = (await readJsonIfPresent(directory, 'tokenizer_config.json')) ?? {};
  const config = checkJson(tokenizerConfigSchema, rawConfig, 'tokenizer_config.json');
  const eosToken = textOf(config.eos_token);
  const eosId = addedTokens.find(({ content }) => content === eosToken)?.id;
  const source = (await readTextIfPresent(directory, 'chat_template.jinja')) ?? defaultTemplate(config.chat_template);
  return createTokenizer({
    json: json as TokenizerJson,
    config,
    toolCallForm: toolCallFormOf(source),
    chatTemplate: createChatTemplate({
      source,
      bosToken: textOf(config.bos_token),
      eosToken,
    }),
    eosIds: eosIds ?? (eosId === undefined ? [] : [eosId]),
  });
}

function textOf(token: Static<typeof specialToken> | undefined): string | undefined {
  return typeof token === 'string' ? token : token?.content;
}

/** A model may bring several templates by name: for tools, for retrieval, and `default`. */
function defaultTemplate(template: Static<typeof tokenizerConfigSchema>['chat_template']): string | undefined {
  return Array.isArray(template) ? template.find(({ name }) => name === 'default')?.template : template;
}
