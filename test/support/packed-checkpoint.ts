import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuantizationConfig } from '../../src/core/contracts/index.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { type TensorToWrite, writeSafetensors } from '../../src/core/model/write-safetensors.ts';
import { toHalf } from '../../src/core/quant/half.ts';
import { readBytes, readFloats } from '../../src/core/quant/read-tensor.ts';

/**
 * Checkpoints as AutoGPTQ and AutoAWQ write them, packed by their loops and not by ours: integers `[in, out]`, a scale and a
 * zero for each group of inputs and each output.
 */
export interface PackedKind extends QuantizationConfig {
  readonly actOrder: boolean;
}

interface Integers {
  readonly inputs: number;
  readonly outputs: number;
  readonly groups: number;
  readonly codes: number[][];
  readonly zeros: number[][];
  readonly scales: number[][];
  readonly groupOfInput: number[];
}

/** Writes a fixture's model packed and, beside it, what its weights then stand for. Both folders are the caller's to delete. */
export async function packCheckpoint(fixture: string, kind: PackedKind): Promise<{ packed: string; plain: string }> {
  const folder = (name: string) => {
    const path = mkdtempSync(join(tmpdir(), `rxllm-${name}-`));
    cpSync(fixture, path, { recursive: true });
    return path;
  };
  const [packed, plain] = [folder('packed'), folder('plain')];
  const { weights, directory } = await loadConfigAndWeights(fixture);
  const packedTensors = new Map<string, TensorToWrite>();
  const plainTensors = new Map<string, TensorToWrite>();
  for (const [name, location] of weights) {
    const asStored: TensorToWrite = { ...location, data: readBytes(directory, location) };
    if (location.shape.length < 2 || /embed_tokens|lm_head/.test(name)) {
      packedTensors.set(name, asStored);
      plainTensors.set(name, asStored);
      continue;
    }
    const [outputs, inputs] = location.shape as [number, number];
    const integers = round(readFloats(directory, location), inputs, outputs, kind);
    plainTensors.set(name, { dtype: 'F32', shape: [outputs, inputs], data: standFor(integers) });
    const module = name.replace(/\.weight$/, '');
    for (const [part, tensor] of Object.entries(kind.method === 'awq' ? packAwq(integers) : packGptq(integers, kind))) {
      packedTensors.set(`${module}.${part}`, tensor);
    }
  }
  await writeSafetensors(packed, 'model.safetensors', packedTensors);
  await writeSafetensors(plain, 'model.safetensors', plainTensors);
  const config = JSON.parse(readFileSync(join(fixture, 'config.json'), 'utf8'));
  const { method, bits, groupSize, zeroOffset } = kind;
  const shared = { quant_method: method, bits, group_size: groupSize === 'channel' ? -1 : groupSize };
  const own =
    method === 'awq'
      ? { version: 'gemm', zero_point: true }
      : { checkpoint_format: zeroOffset === 1 ? 'gptq' : 'gptq_v2', desc_act: kind.actOrder, sym: false };
  writeFileSync(join(packed, 'config.json'), JSON.stringify({ ...config, quantization_config: { ...shared, ...own } }));
  return { packed, plain };
}

/** weight[out, in] → codes, every group asymmetric; with act-order inputs are dealt out to groups like cards. */
function round(weights: Float32Array, inputs: number, outputs: number, kind: PackedKind): Integers {
  const size = kind.groupSize === 'channel' ? inputs : kind.groupSize;
  const groups = Math.ceil(inputs / size);
  const max = 2 ** kind.bits - 1;
  const dealt = Array.from({ length: inputs }, (_, i) => (i * 37) % inputs);
  const groupOfInput = Array.from({ length: inputs }, (_, i) => Math.floor((kind.actOrder ? dealt[i]! : i) / size));
  const table = () => Array.from({ length: groups }, () => Array<number>(outputs).fill(0));
  const [zeros, scales] = [table(), table()];
  const codes = Array.from({ length: inputs }, () => Array<number>(outputs).fill(0));
  for (let out = 0; out < outputs; out++) {
    for (let group = 0; group < groups; group++) {
      const members = groupOfInput.flatMap((of, input) => (of === group ? [input] : []));
      const values = members.map((input) => weights[out * inputs + input]!);
      const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
      // A power of two is a float16.
      const scale = 2 ** Math.ceil(Math.log2((high - low) / max));
      const zero = Math.min(max, Math.round(-low / scale));
      scales[group]![out] = scale;
      zeros[group]![out] = zero;
      members.forEach((input, i) => {
        codes[input]![out] = Math.max(0, Math.min(max, Math.round(values[i]! / scale) + zero));
      });
    }
  }
  return { inputs, outputs, groups, codes, zeros, scales, groupOfInput };
}

function standFor({ inputs, outputs, codes, zeros, scales, groupOfInput }: Integers): Float32Array {
  const weights = new Float32Array(outputs * inputs);
  for (let out = 0; out < outputs; out++) {
    for (let input = 0; input < inputs; input++) {
      const group = groupOfInput[input]!;
      weights[out * inputs + input] = (codes[input]![out]! - zeros[group]![out]!) * scales[group]![out]!;
    }
  }
  return weights;
}

const halfScales = ({ scales, groups, outputs }: Integers): TensorToWrite => ({
  dtype: 'F16',
  shape: [groups, outputs],
  data: Uint16Array.from(scales.flat(), toHalf),
});

/** auto_gptq `QuantLinear.pack`: consecutive inputs in a word of qweight, consecutive outputs in one of qzeros. */
function packGptq(integers: Integers, { bits, zeroOffset }: PackedKind): Record<string, TensorToWrite> {
  const { inputs, outputs, groups, codes, zeros, groupOfInput } = integers;
  const perWord = 32 / bits;
  const qweight: number[] = [];
  for (let row = 0; row < inputs / perWord; row++) {
    for (let out = 0; out < outputs; out++) {
      let word = 0;
      for (let i = 0; i < perWord; i++) word += codes[row * perWord + i]![out]! * 2 ** (bits * i);
      qweight.push(word);
    }
  }
  const qzeros: number[] = [];
  for (let group = 0; group < groups; group++) {
    for (let column = 0; column < outputs / perWord; column++) {
      let word = 0;
      for (let i = 0; i < perWord; i++) {
        const stored = zeros[group]![column * perWord + i]! - zeroOffset;
        word += (stored < 0 ? 2 ** bits - 1 : stored) * 2 ** (bits * i);
      }
      qzeros.push(word);
    }
  }
  return {
    qweight: { dtype: 'I32', shape: [inputs / perWord, outputs], data: Int32Array.from(qweight, (word) => word | 0) },
    qzeros: { dtype: 'I32', shape: [groups, outputs / perWord], data: Int32Array.from(qzeros, (word) => word | 0) },
    scales: halfScales(integers),
    g_idx: { dtype: 'I32', shape: [inputs], data: Int32Array.from(groupOfInput) },
  };
}

/** awq `WQLinear_GEMM.from_linear`: eight neighbouring outputs in a word, even ones first. */
function packAwq(integers: Integers): Record<string, TensorToWrite> {
  const { inputs, outputs, groups, codes, zeros } = integers;
  const orderMap = [0, 2, 4, 6, 1, 3, 5, 7];
  const pack = (rows: readonly (readonly number[])[]) =>
    Int32Array.from(
      rows.flatMap((row) =>
        Array.from({ length: outputs / 8 }, (_, column) =>
          orderMap.reduce((word, from, i) => word + row[column * 8 + from]! * 2 ** (4 * i), 0),
        ),
      ),
      (word) => word | 0,
    );
  return {
    qweight: { dtype: 'I32', shape: [inputs, outputs / 8], data: pack(codes) },
    qzeros: { dtype: 'I32', shape: [groups, outputs / 8], data: pack(zeros) },
    scales: halfScales(integers),
  };
}
