import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpProfiling } from '../runtime/native-runner.ts';
import { opTimes, type ProfileEvent, type RunTimes } from './op-times.ts';

/** Disposing of it removes its folder, where no runner has come to its end. */
export interface OpProfile extends Disposable {
  /** For `native({ profiling })`. */
  readonly profiling: OpProfiling;
  /** The runs from now on belong to this group; undefined: to none. */
  group(name: string | undefined): void;
  /** By group; none before the runner is disposed. */
  times(by?: 'op' | 'node'): ReadonlyMap<string, RunTimes>;
}

/** Collects ONNX Runtime's own profile of one runner, through a file in the system's temporary folder. */
export function opProfile(): OpProfile {
  const folder = mkdtempSync(join(tmpdir(), 'rxllm-ops-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const groups: (string | undefined)[] = [];
  let current: string | undefined;
  let events: readonly ProfileEvent[] = [];
  return {
    profiling: {
      prefix: join(folder, 'ops'),
      onRun: () => groups.push(current),
      onEnd: (file) => {
        try {
          events = JSON.parse(readFileSync(file, 'utf8')) as ProfileEvent[];
        } finally {
          remove();
        }
      },
    },
    group: (name) => {
      current = name;
    },
    times: (by = 'op') => opTimes(events, groups, { by }),
    [Symbol.dispose]: remove,
  };
}
