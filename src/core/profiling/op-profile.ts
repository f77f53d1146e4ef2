import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { OpProfiling } from '../runtime/native-runner.ts';
import { opTimes, type ProfileEvent, type RunTimes } from './op-times.ts';

export interface OpProfile {
  /** For `native({ profiling })`. */
  readonly profiling: OpProfiling;
  /** The runs from now on belong to this group; undefined: to none. */
  group(name: string | undefined): void;
  /** By group; none before the runner is disposed. */
  times(by?: 'op' | 'node'): ReadonlyMap<string, RunTimes>;
}

/** Collects ONNX Runtime's own profile of one runner, through a file in the system's temporary folder. */
export function opProfile(): OpProfile {
  const groups: (string | undefined)[] = [];
  let current: string | undefined;
  let events: readonly ProfileEvent[] = [];
  return {
    profiling: {
      prefix: join(mkdtempSync(join(tmpdir(), 'rxllm-ops-')), 'ops'),
      onRun: () => groups.push(current),
      onEnd: (file) => {
        events = JSON.parse(readFileSync(file, 'utf8')) as ProfileEvent[];
        rmSync(dirname(file), { recursive: true });
      },
    },
    group: (name) => {
      current = name;
    },
    times: (by = 'op') => opTimes(events, groups, { by }),
  };
}
