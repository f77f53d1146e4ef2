import { pathToFileURL } from 'node:url';
import { Bench } from 'tinybench';
import type { SamplingParams } from '../src/core/contracts/index.ts';
import { resolveParams } from '../src/core/sampling/params.ts';
import { createRandom } from '../src/core/sampling/random.ts';
import { createSampler } from '../src/core/sampling/sampler.ts';

const PROMPT = 128;
const HISTORY = 256;

const requests: Record<string, Partial<SamplingParams>> = {
  greedy: {},
  'top-k 50': { temperature: 0.8, topK: 50 },
  'top-p 0.95': { temperature: 0.8, topP: 0.95 },
  'all on': {
    temperature: 0.8,
    topK: 50,
    topP: 0.95,
    minP: 0.02,
    repetitionPenalty: 1.1,
    frequencyPenalty: 0.2,
    presencePenalty: 0.2,
    minTokens: 1000,
    logitBias: new Map([[7, 2]]),
    logprobs: 5,
  },
};

/** One token sampled, in µs, for each kind of request and size of vocabulary. Logits are normal with deviation 3. */
export async function sampler({ timeMs = 500 } = {}): Promise<Bench> {
  const bench = new Bench({ name: 'sampler', time: timeMs });
  const uniform = createRandom(1);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  for (const vocab of [8_192, 49_152]) {
    const logits = Float32Array.from({ length: vocab }, () => 3 * normal());
    const tokens = Array.from({ length: HISTORY }, () => Math.floor(uniform() * vocab));
    for (const [name, params] of Object.entries(requests)) {
      const { sample } = createSampler(resolveParams({ ...params, seed: 1 }), {
        eosIds: new Set([2]),
        random: uniform,
      });
      bench.add(`${name}, vocab ${vocab}`, () => {
        sample(logits, tokens, PROMPT);
      });
    }
  }
  await bench.run();
  return bench;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.table((await sampler()).table());
