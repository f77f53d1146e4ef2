import type { Engine, SamplingParams } from '../../core/contracts/index.ts';
import { invalidField } from '../errors.ts';
import { toResponseFormat } from './response-format.ts';
import type { SamplingFields } from './schemas.ts';

/**
 * The wire's fields under our names. What is absent takes the model's `generation_config.json`, else the engine's
 * default; `max_tokens` otherwise is the whole context, at whose end the engine stops with `length`.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for what a schema cannot see, under the name it has on the wire
 */
export function toSamplingParams(
  body: SamplingFields & { readonly max_completion_tokens?: number },
  logprobs: number | undefined,
  engine: Engine,
): Partial<SamplingParams> {
  const { model, options } = engine;
  const given = defined({
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    minTokens: body.min_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    minP: body.min_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    repetitionPenalty: body.repetition_penalty,
    seed: body.seed,
    stop: typeof body.stop === 'string' ? [body.stop] : body.stop,
    stopTokenIds: body.stop_token_ids,
    ignoreEos: body.ignore_eos,
    logitBias: body.logit_bias && new Map(Object.entries(body.logit_bias).map(([id, bias]) => [Number(id), bias])),
    logprobs,
    responseFormat: toResponseFormat(body),
  });
  const params = { maxTokens: options.maxModelLen, ...model.generationDefaults, ...given };
  checkTokenIds('logit_bias', params.logitBias?.keys(), model.config.vocab);
  checkTokenIds('stop_token_ids', params.stopTokenIds, model.config.vocab);
  if (params.minTokens !== undefined && params.minTokens > params.maxTokens) {
    throw invalidField('min_tokens', `${params.minTokens} is more than max_tokens, which is ${params.maxTokens}`);
  }
  if (params.ignoreEos && params.responseFormat) {
    throw invalidField('ignore_eos', 'a text that follows a format ends with it; leave the field out');
  }
  return params;
}

/** @throws RxllmError `RXLLM_INVALID_REQUEST` that names the field */
export function checkTokenIds(param: string, ids: Iterable<number> | undefined, vocab: number): void {
  const outside = [...(ids ?? [])].find((id) => id >= vocab);
  if (outside === undefined) return;
  throw invalidField(param, `token ${outside} is outside the vocabulary; ids go from 0 to ${vocab - 1}`);
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that are undefined, which would hide a default when spread. */
function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
