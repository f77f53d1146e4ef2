import type { Engine, SamplingParams } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import type { SamplingFields } from './schemas.ts';

/**
 * The wire's fields under our names. What is absent takes the model's `generation_config.json`, else the engine's
 * default; `max_tokens` otherwise is the whole context, at whose end the engine stops with `length`.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for a token id outside the vocabulary
 */
export function toSamplingParams(
  body: SamplingFields & { readonly max_completion_tokens?: number },
  logprobs: number | undefined,
  engine: Engine,
): Partial<SamplingParams> {
  const { model, options } = engine;
  return {
    maxTokens: options.maxModelLen,
    ...model.generationDefaults,
    ...defined({
      maxTokens: body.max_completion_tokens ?? body.max_tokens,
      minTokens: body.min_tokens,
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k === 0 ? -1 : body.top_k,
      minP: body.min_p,
      frequencyPenalty: body.frequency_penalty,
      presencePenalty: body.presence_penalty,
      repetitionPenalty: body.repetition_penalty,
      seed: body.seed,
      stop: typeof body.stop === 'string' ? [body.stop] : body.stop,
      stopTokenIds: body.stop_token_ids,
      ignoreEos: body.ignore_eos,
      logitBias: body.logit_bias && toLogitBias(body.logit_bias, model.config.vocab),
      logprobs,
    }),
  };
}

function toLogitBias(wire: Readonly<Record<string, number>>, vocab: number): ReadonlyMap<number, number> {
  const bias = new Map(Object.entries(wire).map(([id, value]) => [Number(id), value] as const));
  const outside = [...bias.keys()].find((id) => id >= vocab);
  if (outside !== undefined) {
    throw new RxllmError(
      'RXLLM_INVALID_REQUEST',
      `logit_bias: token ${outside} is outside the vocabulary; ids go from 0 to ${vocab - 1}.`,
      { param: 'logit_bias' },
    );
  }
  return bias;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that are undefined, which would hide a default when spread. */
function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
