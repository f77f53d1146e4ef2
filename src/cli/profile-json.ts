import { environment } from '../bench/environment.ts';
import type { EngineProfile } from '../bench/profile/profile-engine.ts';
import { describeProfile } from '../bench/profile/summary.ts';

/** One object, on the wire in snake_case. */
export function profileJson(profile: EngineProfile): object {
  const { engine, model, runtime, batch, promptTokens, maxTokens, traffic, run, ceilings, roofs, points, ops } =
    profile;
  const { machine, versions, date } = environment();
  return {
    engine,
    model,
    runtime,
    machine,
    versions,
    date,
    batch,
    prompt_tokens: promptTokens,
    max_tokens: maxTokens,
    wall_ms: run.wallMs,
    stages: run.stages.map(({ stage, within, items, totalMs, selfMs }) => ({
      stage,
      ...(within !== undefined && { within }),
      items,
      total_ms: totalMs,
      self_ms: selfMs,
    })),
    ops: Object.fromEntries(
      [...(ops ?? [])].map(([phase, times]) => [
        phase,
        {
          runs: times.runs,
          total_ms: times.totalMs,
          ops: times.ops.map(({ name, count, totalMs }) => ({ name, count, total_ms: totalMs })),
        },
      ]),
    ),
    weights: { kernel: traffic.kernel, layer_bytes: traffic.layers, head_bytes: traffic.head },
    ceilings: {
      threads: ceilings.threads,
      memory_bytes_per_s: ceilings.memory,
      cached_bytes_per_s: ceilings.cached,
      flops_per_s: ceilings.flops,
      ridge: roofs.flopsPerS / roofs.bytesPerS,
    },
    phases: points.map(({ phase, rows, passes, tokens, ms, flops, bytes, ...placed }) => ({
      phase,
      rows,
      passes,
      tokens,
      ms,
      flops,
      bytes,
      intensity: placed.intensity,
      flops_per_s: placed.flopsPerS,
      bytes_per_s: placed.bytesPerS,
      of_compute: placed.ofCompute,
      of_memory: placed.ofMemory,
      bound: placed.bound,
    })),
    summary: describeProfile(profile),
  };
}
