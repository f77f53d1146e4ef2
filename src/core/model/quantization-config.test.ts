import { expect, it } from 'vitest';
import { parseQuantization } from './quantization-config.ts';

it.each([
  [
    { quant_method: 'gptq', bits: 4, group_size: 128 },
    { method: 'gptq', bits: 4, groupSize: 128, zeroOffset: 1 },
  ],
  [
    { quant_method: 'gptq', bits: 8, group_size: -1, checkpoint_format: 'gptq_v2' },
    { method: 'gptq', bits: 8, groupSize: 'channel', zeroOffset: 0 },
  ],
  [
    { quant_method: 'awq', bits: 4, group_size: 64, version: 'GEMM' },
    { method: 'awq', bits: 4, groupSize: 64, zeroOffset: 0 },
  ],
])('reads %o', (json, expected) => {
  expect(parseQuantization(json, 'config.json')).toEqual(expected);
});

it.each([
  [{ quant_method: 'bitsandbytes' }, 'quant_method bitsandbytes is not supported; supported: gptq, awq'],
  [{ quant_method: 'gptq', bits: 3 }, 'bits 3 is not supported; supported: 4, 8 with gptq'],
  [{ quant_method: 'awq', bits: 8 }, 'bits 8 is not supported; supported: 4 with awq'],
  [
    { quant_method: 'gptq', bits: 4, group_size: 8 },
    'group_size 8 is not supported; supported: -1 and multiples of 16',
  ],
  [{ quant_method: 'awq', bits: 4, version: 'gemv' }, 'version gemv is not supported; supported: gemm'],
  [
    { quant_method: 'gptq', bits: 4, checkpoint_format: 'marlin' },
    'checkpoint_format marlin is not supported; supported: gptq, gptq_v2',
  ],
])('refuses %o', (json, message) => {
  expect(() => parseQuantization(json, 'config.json')).toThrow(
    expect.objectContaining({ code: 'RXLLM_MODEL_UNSUPPORTED', message: expect.stringContaining(message) }),
  );
});
