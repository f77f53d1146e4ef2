/**
 * Time to the first token where 1,036 tokens of the prompt are in the prefix cache, against a cold one:
 * `npx tsx bench/shared-prefix.ts [--random] [PAIRS]`, on the embedded model or on SmolLM2-135M's shape. Cold and warm take
 * turns, each prompt with a suffix of its own; a salt that nobody else has keeps the cold ones cold.
 */
import { readFileSync } from 'node:fs';
import { filter, firstValueFrom, map } from 'rxjs';
import type { Engine, TokenId } from '../src/core/contracts/index.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createEngine, prefixCaching } from '../src/engines/index.ts';
import { median, printTable, quantile } from './support/decode-bench.ts';
import { randomSmolLmModel } from './support/random-checkpoint.ts';

const { prefix, suffixes } = JSON.parse(
  readFileSync(new URL('./workloads/shared-prefix.json', import.meta.url), 'utf8'),
) as { readonly prefix: string; readonly suffixes: readonly string[] };

const isRandom = process.argv.includes('--random');
const pairs = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 15);
const embedded = await loadModel('models/storyteller-12m');
const model = isRandom ? await randomSmolLmModel() : embedded;
const engine = await createEngine(prefixCaching, model, { maxModelLen: 2048, maxNumSeqs: 8, maxNumBatchedTokens: 512 });

async function ttft(of: Engine, prompt: readonly TokenId[], cacheSalt: string) {
  const params = { maxTokens: 1, ignoreEos: true };
  const { metrics } = await firstValueFrom(
    of.stream({ prompt, params, cacheSalt }).pipe(
      filter((event) => event.type === 'finished'),
      map(({ result }) => result),
    ),
  );
  return { ms: metrics.ttftMs, cached: metrics.cachedTokens ?? 0 };
}

const prompts = suffixes.map((suffix) => embedded.tokenizer.encode(prefix + suffix));
await ttft(engine, prompts.at(-1)!, 'warm');
await ttft(engine, prompts.at(-2)!, 'warm');
const cold: number[] = [];
const warm: number[] = [];
let cached = 0;
for (let i = 0; i < pairs; i++) {
  const prompt = prompts[i % (prompts.length - 2)]!;
  // Another tenant's for each round: even the own suffix of an earlier one is not found.
  cold.push((await ttft(engine, prompt, `cold ${i}`)).ms);
  const found = await ttft(engine, prompt, 'warm');
  warm.push(found.ms);
  cached = found.cached;
}
const ratios = cold.map((ms, i) => ms / warm[i]!);
console.log(`${model.name}, ${engine.description}: ${prompts[0]!.length} tokens, of which ${cached} are cached`);
const row = [median(cold), median(warm), median(ratios)].map((value) => value.toFixed(2));
const quartiles = `${quantile(ratios, 0.25).toFixed(1)} to ${quantile(ratios, 0.75).toFixed(1)}`;
printTable(['cold, ms', 'warm, ms', 'ratio', 'quartiles'], [[...row, quartiles]]);
await engine.close();
