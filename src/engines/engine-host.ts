import { defer, finalize } from 'rxjs';
import type { Engine } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';

/** Holds the engine that serves, and exchanges it while it does. */
export interface EngineHost {
  /** undefined until the first has started. */
  engine(): Engine | undefined;
  /**
   * Starts the named engine and lets it serve; what runs on the one before finishes there, and then that one closes.
   * Rejects, and leaves the old one serving, when the new one cannot start.
   */
  swap(name: string): Promise<Engine>;
  /** Ends what is under way with `abort`, and closes; what is still starting is closed once it has, and not waited for. */
  close(): Promise<void>;
}

/** `start` makes an engine from its name; it is asked for one at a time. */
export function createEngineHost(start: (name: string) => Promise<Engine>): EngineHost {
  let current: Hosted | undefined;
  let closed = false;
  let swapping: Promise<unknown> = Promise.resolve();
  const hosted = new Set<Hosted>();

  const exchange = async (name: string): Promise<Engine> => {
    if (closed) throw new RxllmError('RXLLM_ENGINE_CLOSED', 'The server is shutting down; no engine is started.');
    const engine = await start(name);
    if (closed) {
      await engine.close();
      throw new RxllmError('RXLLM_ENGINE_CLOSED', `The server was shut down while "${name}" was starting.`);
    }
    const old = current;
    const next = host(engine, () => current?.engine);
    hosted.add(next);
    current = next;
    void old?.retire().then(() => hosted.delete(old));
    return next.engine;
  };

  return {
    engine: () => current?.engine,
    swap: (name) => {
      const swapped = swapping.then(() => exchange(name));
      swapping = swapped.catch(() => {});
      return swapped;
    },
    close: async () => {
      closed = true;
      await Promise.all([...hosted].map(({ engine }) => engine.close()));
    },
  };
}

interface Hosted {
  readonly engine: Engine;
  /** Takes no more requests, and closes when the last one has ended. */
  retire(): Promise<void>;
}

/** Counts its requests. Who still holds a retired engine is served by its successor. */
function host(engine: Engine, successor: () => Engine | undefined): Hosted {
  let active = 0;
  let retired = false;
  let whenIdle = () => {};
  const leave = () => {
    active -= 1;
    if (retired && active === 0) whenIdle();
  };
  return {
    engine: {
      ...engine,
      stream: (request) =>
        defer(() => {
          const next = retired ? successor() : undefined;
          if (next !== undefined) return next.stream(request);
          active += 1;
          return engine.stream(request).pipe(finalize(leave));
        }),
    },
    retire: async () => {
      retired = true;
      if (active > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
      await engine.close();
    },
  };
}
