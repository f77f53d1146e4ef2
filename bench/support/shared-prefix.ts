import { readFileSync } from 'node:fs';
import { filter, firstValueFrom, map } from 'rxjs';
import type { Engine, TokenId, Tokenizer } from '../../src/core/contracts/index.ts';

/** TTFT in milliseconds of each pair, and how many prompt tokens the warm ones found. */
export interface ColdAndWarm {
  readonly cold: readonly number[];
  readonly warm: readonly number[];
  readonly ratios: readonly number[];
  readonly cached: number;
}

/** The prompts of `bench/workloads/shared-prefix.json`: a prefix of 1,036 tokens, and a suffix of its own for each. */
export function sharedPrefixPrompts(tokenizer: Tokenizer): TokenId[][] {
  const workload = readFileSync(new URL('../workloads/shared-prefix.json', import.meta.url), 'utf8');
  const { prefix, suffixes } = JSON.parse(workload) as {
    readonly prefix: string;
    readonly suffixes: readonly string[];
  };
  return suffixes.map((suffix) => tokenizer.encode(prefix + suffix));
}

/**
 * The prefix cached against a cold one, in turns. A salt that nobody else has keeps the cold ones cold: even the own
 * suffix of an earlier round is not found.
 */
export async function coldAndWarm(
  engine: Engine,
  prompts: readonly (readonly TokenId[])[],
  pairs: number,
): Promise<ColdAndWarm> {
  await ttft(engine, prompts.at(-1)!, 'warm');
  await ttft(engine, prompts.at(-2)!, 'warm');
  const cold: number[] = [];
  const warm: number[] = [];
  let cached = 0;
  for (let i = 0; i < pairs; i++) {
    const prompt = prompts[i % (prompts.length - 2)]!;
    cold.push((await ttft(engine, prompt, `cold ${i}`)).ms);
    const found = await ttft(engine, prompt, 'warm');
    warm.push(found.ms);
    cached = found.cached;
  }
  return { cold, warm, ratios: cold.map((ms, i) => ms / warm[i]!), cached };
}

async function ttft(engine: Engine, prompt: readonly TokenId[], cacheSalt: string) {
  const params = { maxTokens: 1, ignoreEos: true };
  const { metrics } = await firstValueFrom(
    engine.stream({ prompt, params, cacheSalt }).pipe(
      filter((event) => event.type === 'finished'),
      map(({ result }) => result),
    ),
  );
  return { ms: metrics.ttftMs, cached: metrics.cachedTokens ?? 0 };
}
