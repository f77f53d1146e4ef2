import { forkJoin, last, lastValueFrom } from 'rxjs';
import type { EngineOptions, GenerateRequest, Model, Recipe } from '../../core/contracts/index.ts';
import { opProfile } from '../../core/profiling/op-profile.ts';
import type { RunTimes } from '../../core/profiling/op-times.ts';
import { native } from '../../core/runtime/native-runner.ts';
import { createEngine } from '../../engines/create-engine.ts';
import { profile } from '../../operators/profile.ts';
import { type Phase, phaseOf } from './phase.ts';

export interface OpRunOptions {
  readonly options: Partial<EngineOptions>;
  readonly promptTokens: number;
  readonly by: 'op' | 'node';
}

/**
 * ONNX Runtime's own times of an engine's ops, prefill and decode apart: in a run of its own, for its profiler slows it, and
 * on the native runtime, whatever the recipe's. The first requests are a warm-up, the second are counted.
 * @throws RxllmError `RXLLM_RUNTIME_UNAVAILABLE`, and as `createEngine` does
 */
export async function opRun(
  recipe: Recipe,
  model: Model,
  [warmup, counted]: readonly [readonly GenerateRequest[], readonly GenerateRequest[]],
  { options, promptTokens, by }: OpRunOptions,
): Promise<ReadonlyMap<Phase, RunTimes>> {
  using ops = opProfile();
  let counts = false;
  const runtime = profile().runtime(native({ profiling: ops.profiling }), {
    began: (batch) => ops.group(counts ? phaseOf(batch, engine.pool.layout, promptTokens) : undefined),
  });
  const engine = await createEngine({ ...recipe, runtime }, model, options);
  const all = (requests: readonly GenerateRequest[]) =>
    lastValueFrom(forkJoin(requests.map((request) => engine.stream(request).pipe(last()))));
  try {
    await all(warmup);
    counts = true;
    await all(counted);
  } finally {
    await engine.close();
  }
  return ops.times(by) as ReadonlyMap<Phase, RunTimes>;
}
