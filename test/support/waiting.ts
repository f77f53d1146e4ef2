import { vi } from 'vitest';

/**
 * How long a test waits for what is to come, in milliseconds. Nothing is asserted about time: two workers and ONNX
 * Runtime's threads share the cores, so a second, which vitest waits by itself, is sometimes short.
 */
export const PATIENCE_MS = 30_000;

/** Resolves when these expectations hold, with what they give; looked at each `interval` milliseconds. */
export const eventually = <T>(expectations: () => T | Promise<T>, { interval = 20 } = {}): Promise<T> =>
  vi.waitFor(expectations, { timeout: PATIENCE_MS, interval });

/** Resolves when this is so, looked at in each turn of the event loop; fails after `PATIENCE_MS`. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const last = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > last) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${holds}`);
    await turns(1);
  }
}

/** Resolves when the event loop has turned so often: an engine that still ran would have begun a step. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
