import type { SamplingParams, TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { isResponseFormat, RESPONSE_FORMATS } from '../grammar/response-format.ts';

/** Greedy, with no truncation, penalties or stops. */
export const DEFAULT_SAMPLING_PARAMS: SamplingParams = {
  temperature: 0,
  topK: -1,
  topP: 1,
  minP: 0,
  maxTokens: 1024,
  minTokens: 0,
  ignoreEos: false,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  stop: [],
  stopTokenIds: [],
};

/** Only the likeliest token can be drawn. (The nucleus of a point mass is that point, so `topP` does not matter.) */
export function isGreedy({ temperature, topK }: SamplingParams): boolean {
  return temperature <= 0 || topK === 1;
}

interface Rule {
  readonly allowed: string;
  accepts(value: unknown, vocab: number): boolean;
}

const number = (min: number, max: number): Rule => ({
  allowed: `a number from ${min} to ${max}`,
  accepts: (value) => typeof value === 'number' && value >= min && value <= max,
});

const integer = (min: number, max = Number.MAX_SAFE_INTEGER): Rule => ({
  allowed: max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`,
  accepts: (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
});

const isTokenId = (value: unknown, vocab: number): value is TokenId =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < vocab;

const RULES: Record<keyof SamplingParams, Rule> = {
  temperature: number(0, 2),
  topK: { ...integer(-1), allowed: 'an integer of at least 1, or -1 or 0 for no limit' },
  topP: number(0, 1),
  minP: number(0, 1),
  maxTokens: integer(1),
  minTokens: integer(0),
  ignoreEos: { allowed: 'true or false', accepts: (value) => typeof value === 'boolean' },
  // It scales logits: further out they would overflow to infinity, and nothing could be drawn.
  repetitionPenalty: number(0.01, 100),
  frequencyPenalty: number(-2, 2),
  presencePenalty: number(-2, 2),
  seed: { allowed: 'a safe integer', accepts: (value) => Number.isSafeInteger(value) },
  stop: {
    allowed: 'an array of strings that are not empty',
    accepts: (value) => Array.isArray(value) && value.every((stop) => typeof stop === 'string' && stop !== ''),
  },
  stopTokenIds: {
    allowed: 'an array of token ids of the vocabulary',
    accepts: (value, vocab) => Array.isArray(value) && value.every((id) => isTokenId(id, vocab)),
  },
  logitBias: {
    allowed: 'a Map from token ids of the vocabulary to numbers from -100 to 100',
    accepts: (value, vocab) =>
      value instanceof Map &&
      [...value].every(([id, bias]) => isTokenId(id, vocab) && typeof bias === 'number' && Math.abs(bias) <= 100),
  },
  logprobs: integer(0, 20),
  responseFormat: { allowed: `one of the formats ${RESPONSE_FORMATS.join(', ')}`, accepts: isResponseFormat },
};

/**
 * What a request asks for, over the defaults; a field that is `undefined` counts as absent.
 * Token ids must be below `vocab`.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` that names the parameter, its value and what is allowed.
 */
export function resolveParams(partial: Partial<SamplingParams> = {}, vocab = Number.POSITIVE_INFINITY): SamplingParams {
  const given = Object.entries(partial).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const rule = Object.hasOwn(RULES, name) ? RULES[name as keyof SamplingParams] : undefined;
    if (!rule) throw invalid(name, `is not a sampling parameter; there are ${Object.keys(RULES).join(', ')}`);
    if (!rule.accepts(value, vocab)) throw invalid(name, `must be ${rule.allowed}, not ${show(value)}`);
  }
  const params: SamplingParams = { ...DEFAULT_SAMPLING_PARAMS, ...Object.fromEntries(given) };
  if (params.minTokens > params.maxTokens) {
    throw invalid('minTokens', `must be at most maxTokens (${params.maxTokens}), not ${params.minTokens}`);
  }
  if (params.ignoreEos && params.responseFormat !== undefined && params.responseFormat.type !== 'text') {
    throw invalid('ignoreEos', 'must be false with a responseFormat, whose text has an end');
  }
  return params;
}

function invalid(param: string, problem: string): RxllmError {
  return new RxllmError('RXLLM_INVALID_REQUEST', `${param} ${problem}.`, { param });
}

function show(value: unknown): string {
  if (value instanceof Map) return `Map ${JSON.stringify([...value])}`;
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
}
