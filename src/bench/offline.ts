import type { Engine } from '../core/contracts/index.ts';
import type { BenchRequest } from './client.ts';
import type { Run } from './stats.ts';

/** One request to an engine in this process, without HTTP; TTFT and TPOT are the engine's own, where it has them. */
export async function runOffline(engine: Engine, { prompt, params }: BenchRequest): Promise<Run> {
  const { clock } = engine.options;
  const start = clock.now();
  const { metrics } = await engine.generate(prompt, params.maxTokens, params);
  const { outputTokens, ttftMs, tpotMs } = metrics;
  return { wallMs: clock.now() - start, outputTokens, ttftMs, tpotMs };
}
