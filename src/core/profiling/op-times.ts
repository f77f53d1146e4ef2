/** The part of an event of ONNX Runtime's profile that is used; `dur` in µs. */
export interface ProfileEvent {
  readonly cat: string;
  readonly name: string;
  readonly dur: number;
  readonly args?: { readonly op_name?: string };
}

export interface OpTime {
  /** `Gemm`, or with `by: 'node'` the node's name in the graph, `Gemm_22`. */
  readonly name: string;
  readonly count: number;
  readonly totalMs: number;
}

/** What some runs of a session took; `ops` are the longest first, and what they leave of `totalMs` is between them. */
export interface RunTimes {
  readonly runs: number;
  readonly totalMs: number;
  readonly ops: readonly OpTime[];
}

const KERNEL = /_kernel_time$/;
const MS_PER_US = 1 / 1000;

/**
 * ONNX Runtime's own profile, summed by op type, or by node, for each group of runs; `groups` has a name for each run, in
 * order, or undefined for one that does not count. Its times are whole microseconds.
 */
export function opTimes(
  events: readonly ProfileEvent[],
  groups: readonly (string | undefined)[],
  { by = 'op' }: { readonly by?: 'op' | 'node' } = {},
): Map<string, RunTimes> {
  const sums = new Map<string, { runs: number; totalMs: number; ops: Map<string, OpTime> }>();
  let ofRun: { readonly name: string; readonly ms: number }[] = [];
  let run = 0;
  for (const { cat, name, dur, args } of events) {
    const ms = dur * MS_PER_US;
    if (cat === 'Node' && KERNEL.test(name)) {
      const node = name.replace(KERNEL, '');
      ofRun.push({ name: by === 'node' ? node : (args?.op_name ?? node), ms });
    }
    // The event of a run stands behind those of its nodes.
    if (name !== 'model_run') continue;
    const group = groups[run++];
    if (group !== undefined) {
      const sum = sums.get(group) ?? { runs: 0, totalMs: 0, ops: new Map<string, OpTime>() };
      sums.set(group, sum);
      sum.runs += 1;
      sum.totalMs += ms;
      for (const op of ofRun) {
        const { count, totalMs } = sum.ops.get(op.name) ?? { count: 0, totalMs: 0 };
        sum.ops.set(op.name, { name: op.name, count: count + 1, totalMs: totalMs + op.ms });
      }
    }
    ofRun = [];
  }
  return new Map(
    [...sums].map(([group, { runs, totalMs, ops }]) => [
      group,
      { runs, totalMs, ops: [...ops.values()].sort((a, b) => b.totalMs - a.totalMs) },
    ]),
  );
}
