import { type ErrorCode, RxllmError } from '../core/errors.ts';

const FILTERS: readonly GPUErrorFilter[] = ['validation', 'out-of-memory', 'internal'];

/** WebGPU reports errors beside the call that makes them; here they become that call's own. */
export class ErrorScope {
  private readonly device: GPUDevice;
  /** What was reported outside of a scope: it belongs to the next one. */
  private earlier: string | undefined;

  constructor(device: GPUDevice) {
    this.device = device;
    device.addEventListener('uncapturederror', (event) => {
      this.earlier ??= event.error.message;
    });
    void device.lost.then(({ reason, message }) => {
      if (reason !== 'destroyed') this.earlier = `the device is lost: ${message}`;
    });
  }

  /** What `work` gives. @throws RxllmError with `code`, where the device found an error in it or since the last call */
  async within<T>(code: ErrorCode, what: string, work: () => T | Promise<T>): Promise<T> {
    for (const filter of FILTERS) this.device.pushErrorScope(filter);
    let thrown: unknown;
    let result: T | undefined;
    try {
      const working = work();
      // Scopes are a stack: they are popped before anything else can push.
      const popped = FILTERS.map(() => this.device.popErrorScope());
      result = await working;
      const [found] = (await Promise.all(popped)).filter((error) => error !== null);
      this.earlier ??= found?.message;
    } catch (error) {
      thrown = error;
    }
    const message = this.earlier ?? (thrown instanceof Error ? thrown.message : undefined);
    this.earlier = undefined;
    if (message !== undefined) throw new RxllmError(code, `${what}: ${message}`, { cause: thrown });
    return result as T;
  }
}
