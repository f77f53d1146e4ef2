import Type from 'typebox';
import type { SamplingParams, TokenId } from '../contracts/index.ts';
import { checkJson } from './read-json.ts';

const tokenId = Type.Integer({ minimum: 0 });
const eosSchema = Type.Object({ eos_token_id: Type.Optional(Type.Union([tokenId, Type.Array(tokenId)])) });
const generationSchema = Type.Object({
  do_sample: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Number({ minimum: 0 })),
  top_k: Type.Optional(Type.Integer({ minimum: -1 })),
  top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  min_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  repetition_penalty: Type.Optional(Type.Number({ minimum: 0.01, maximum: 100 })),
  max_new_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
});

/**
 * What `generation_config.json` sets, under our names. `do_sample: false` is temperature 0; `top_k: 0` is -1, no limit.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID`
 */
export function parseGenerationConfig(json: unknown, file: string): Partial<SamplingParams> {
  const raw = checkJson(generationSchema, json, file);
  const temperature = raw.do_sample === false ? 0 : raw.temperature;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(raw.top_k !== undefined && { topK: raw.top_k === 0 ? -1 : raw.top_k }),
    ...(raw.top_p !== undefined && { topP: raw.top_p }),
    ...(raw.min_p !== undefined && { minP: raw.min_p }),
    ...(raw.repetition_penalty !== undefined && { repetitionPenalty: raw.repetition_penalty }),
    ...(raw.max_new_tokens !== undefined && { maxTokens: raw.max_new_tokens }),
  };
}

/** `eos_token_id`, one or several, of `generation_config.json` or `config.json`; undefined when it is not set. */
export function parseEosIds(json: unknown, file: string): readonly TokenId[] | undefined {
  const eos = checkJson(eosSchema, json, file).eos_token_id;
  return typeof eos === 'number' ? [eos] : eos;
}
