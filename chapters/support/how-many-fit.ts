import { lastValueFrom, merge } from 'rxjs';
import type { Engine, EngineOptions, GenerateRequest, KvSlot, Model } from 'rxllm';
import { allocatorOf, runOnce, sequenceOf } from './allocator.ts';

/** Around 200 tokens: 150 to 250. */
export const lengthOf = (request: number): number => 150 + ((request * 37) % 101);

/** How many such sequences find room, and how many tokens of what they reserved hold nothing. */
export function howManyFit(
  slot: KvSlot,
  model: Model,
  options: Partial<EngineOptions>,
): { count: number; empty: number } {
  const kv = allocatorOf(slot, model, { ...options, maxNumSeqs: 1000, maxNumBatchedTokens: 1000 });
  let tokens = 0;
  for (let count = 0; ; count++) {
    const sequence = sequenceOf(String(count), Array<number>(lengthOf(count)).fill(1));
    if (runOnce(kv, sequence) === undefined) return { count, empty: kv.used * kv.pool.blockSize - tokens };
    tokens += sequence.tokens.length;
  }
}

/** So many requests of such a length at its end, the last `output` tokens generated. */
export const requestsToFit = (count: number, output: number): GenerateRequest[] =>
  Array.from({ length: count }, (_, i) => ({
    prompt: Array.from({ length: lengthOf(i) - output }, (_, at) => 100 + ((at * 37 + i * 101) % 8000)),
    params: { maxTokens: output, ignoreEos: true },
  }));

/** All at once: how many ran side by side at most, in how many steps, and how fast. */
export async function runAll(engine: Engine, requests: readonly GenerateRequest[]) {
  let [atOnce, steps, tokens] = [0, 0, 0];
  const watching = engine.stats$.subscribe(({ running }) => {
    atOnce = Math.max(atOnce, running);
    steps += 1;
  });
  const start = performance.now();
  await lastValueFrom(merge(...requests.map((request) => engine.stream(request))));
  const seconds = (performance.now() - start) / 1000;
  watching.unsubscribe();
  for (const { params } of requests) tokens += params?.maxTokens ?? 0;
  return { atOnce, steps, tokensPerS: tokens / seconds };
}
