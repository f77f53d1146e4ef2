/** A whole inference engine: text in, text out. Every line is a box that a later chapter opens. */
import { fileURLToPath } from 'node:url';
import ort from 'onnxruntime-node';
import { createSampler, loadModel, resolveParams } from 'rxllm';

const quick = process.argv.includes('--quick');
const directory = fileURLToPath(new URL('../../models/storyteller-12m', import.meta.url));

const { tokenizer } = await loadModel(directory);
const session = await ort.InferenceSession.create(`${directory}/model.onnx`, { logSeverityLevel: 3 });
const params = resolveParams({ temperature: 0.8, topK: 50, topP: 0.95 });
const sampler = createSampler(params, { eosIds: tokenizer.eosIds, random: Math.random });

async function generate(prompt: string, maxTokens: number): Promise<string> {
  const tokens = tokenizer.encode(prompt);
  const promptLength = tokens.length;
  while (tokens.length < promptLength + maxTokens) {
    const count = tokens.length;
    const { logits } = await session.run({
      ids: new ort.Tensor('int64', BigInt64Array.from(tokens, BigInt), [count]),
      positions: new ort.Tensor('int64', BigInt64Array.from(tokens.keys(), BigInt), [1, count]),
      logits_at: new ort.Tensor('int64', [BigInt(count - 1)], [1]),
    });
    const { id } = sampler.sample(logits!.data as Float32Array, tokens, promptLength);
    if (tokenizer.eosIds.has(id)) break;
    tokens.push(id);
  }
  return tokenizer.decode(tokens);
}

console.log(await generate('Once upon a time, there was a little fox named', quick ? 8 : 100));
