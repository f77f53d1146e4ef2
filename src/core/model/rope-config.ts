import Type, { type Static } from 'typebox';
import type { RopeConfig } from '../contracts/index.ts';
import { unsupported } from './model-errors.ts';
import { checkJson } from './read-json.ts';

const positive = Type.Number({ exclusiveMinimum: 0 });
const factor = Type.Number({ minimum: 1 });
const positions = Type.Integer({ minimum: 1 });

const kindSchema = Type.Object({
  rope_theta: Type.Optional(positive),
  rope_type: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  partial_rotary_factor: Type.Optional(Type.Number()),
});
const linearSchema = Type.Object({ factor });
const llama3Schema = Type.Object({
  factor,
  low_freq_factor: positive,
  high_freq_factor: positive,
  original_max_position_embeddings: positions,
});
const yarnSchema = Type.Object({
  factor,
  original_max_position_embeddings: Type.Optional(positions),
  attention_factor: Type.Optional(positive),
  beta_fast: Type.Optional(positive),
  beta_slow: Type.Optional(positive),
  mscale: Type.Optional(Type.Number()),
  mscale_all_dim: Type.Optional(Type.Number()),
  truncate: Type.Optional(Type.Boolean()),
});

/** The fields of `config.json` that decide it. */
export interface RawRope {
  readonly rope_theta?: number;
  readonly rope_scaling?: Record<string, unknown>;
  readonly rope_parameters?: Record<string, unknown>;
  readonly max_position_embeddings: number;
}

/**
 * Rotary embedding from `rope_parameters` (transformers 5), or `rope_theta` and `rope_scaling` (4 and older, where the
 * kind may be called `type`). Follows transformers' `modeling_rope_utils`.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED`
 */
export function parseRope(raw: RawRope, file: string): RopeConfig {
  const json = raw.rope_parameters ?? raw.rope_scaling ?? {};
  const where = `${file}: ${raw.rope_parameters === undefined ? 'rope_scaling' : 'rope_parameters'}`;
  const kind = checkJson(kindSchema, json, where);
  const theta = kind.rope_theta ?? raw.rope_theta ?? 10_000;
  if ((kind.partial_rotary_factor ?? 1) !== 1) {
    throw unsupported(where, `partial_rotary_factor ${kind.partial_rotary_factor}`, '1');
  }
  const type = kind.rope_type ?? kind.type ?? 'default';
  switch (type) {
    case 'default':
      return { theta, type };
    case 'linear':
      return { theta, type, factor: checkJson(linearSchema, json, where).factor };
    case 'llama3': {
      const llama3 = checkJson(llama3Schema, json, where);
      return {
        theta,
        type,
        factor: llama3.factor,
        lowFreqFactor: llama3.low_freq_factor,
        highFreqFactor: llama3.high_freq_factor,
        originalMaxPositions: llama3.original_max_position_embeddings,
      };
    }
    case 'yarn': {
      const yarn = checkJson(yarnSchema, json, where);
      if (yarn.truncate === false) throw unsupported(where, 'truncate false', 'true');
      return {
        theta,
        type,
        factor: yarn.factor,
        originalMaxPositions: yarn.original_max_position_embeddings ?? raw.max_position_embeddings,
        betaFast: yarn.beta_fast ?? 32,
        betaSlow: yarn.beta_slow ?? 1,
        attentionFactor: yarn.attention_factor ?? attentionFactor(yarn),
      };
    }
    default:
      throw unsupported(where, `rope_type ${type}`, 'default, linear, llama3, yarn');
  }
}

/** YaRN, equation 22; DeepSeek's checkpoints give it as a ratio of two. */
function attentionFactor({ factor, mscale, mscale_all_dim: mscaleAllDim }: Static<typeof yarnSchema>): number {
  const scale = (by: number) => (factor <= 1 ? 1 : 0.1 * by * Math.log(factor) + 1);
  return mscale && mscaleAllDim ? scale(mscale) / scale(mscaleAllDim) : scale(1);
}
