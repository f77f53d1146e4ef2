import Type from 'typebox';
import type { QuantizationConfig } from '../contracts/index.ts';
import { unsupported } from './model-errors.ts';
import { checkJson } from './read-json.ts';

const schema = Type.Object({
  quant_method: Type.Optional(Type.String()),
  bits: Type.Optional(Type.Integer()),
  group_size: Type.Optional(Type.Integer()),
  /** GPTQ: `gptq` stores zero points less 1, `gptq_v2` as they are. */
  checkpoint_format: Type.Optional(Type.String()),
  /** AWQ: the order in which codes are packed. */
  version: Type.Optional(Type.String()),
});

const SUPPORTED_BITS = { gptq: [4, 8], awq: [4] } as const;
/** Of a block of `MatMulNBits`. */
const GROUP_MULTIPLE = 16;
const DEFAULT_GROUP_SIZE = 128;

/**
 * `quantization_config` of `config.json`, as AutoGPTQ, GPTQModel, AutoAWQ and rxllm itself write it.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED` naming what is supported
 */
export function parseQuantization(json: unknown, file: string): QuantizationConfig | undefined {
  if (json === undefined) return undefined;
  const raw = checkJson(schema, json, `${file}: quantization_config`);
  const refuse = (field: string, found: unknown, supported: string): never => {
    throw unsupported(file, `quantization_config.${field} ${found}`, supported);
  };
  const method = raw.quant_method;
  if (method !== 'gptq' && method !== 'awq')
    return refuse('quant_method', method, 'gptq, awq, or weights in F32, F16 or BF16');
  const bits = SUPPORTED_BITS[method].find((value) => value === raw.bits);
  if (bits === undefined) return refuse('bits', raw.bits, `${SUPPORTED_BITS[method].join(', ')} with ${method}`);
  const groupSize = raw.group_size ?? DEFAULT_GROUP_SIZE;
  if (groupSize !== -1 && (groupSize < GROUP_MULTIPLE || groupSize % GROUP_MULTIPLE !== 0)) {
    return refuse('group_size', groupSize, `-1 and multiples of ${GROUP_MULTIPLE}`);
  }
  const version = (raw.version ?? 'gemm').toLowerCase();
  if (method === 'awq' && version !== 'gemm') return refuse('version', version, 'gemm');
  const format = raw.checkpoint_format ?? 'gptq';
  if (method === 'gptq' && format !== 'gptq' && format !== 'gptq_v2') {
    return refuse('checkpoint_format', format, 'gptq, gptq_v2');
  }
  return {
    method,
    bits,
    groupSize: groupSize === -1 ? 'channel' : groupSize,
    zeroOffset: method === 'gptq' && format === 'gptq' ? 1 : 0,
  };
}
