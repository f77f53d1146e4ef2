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

  /** What `work` gives. @throws RxllmError with `code`, where it throws, or the device found an error in it or since the last call */
  async within<T>(code: ErrorCode, what: string, work: () => T | Promise<T>): Promise<T> {
    for (const filter of FILTERS) this.device.pushErrorScope(filter);
    const [worked, reported] = await Promise.allSettled([
      // Runs until it first waits, and an error of that part is a rejection, too.
      (async () => work())(),
      // Scopes are a stack: they are popped before anything else can push.
      Promise.all(FILTERS.map(() => this.device.popErrorScope())),
    ]);
    if (reported.status === 'fulfilled') this.earlier ??= reported.value.find((error) => error !== null)?.message;
    const message = this.earlier;
    this.earlier = undefined;
    if (worked.status === 'fulfilled' && message === undefined) return worked.value;
    const cause: unknown = worked.status === 'rejected' ? worked.reason : undefined;
    const why = message ?? (cause instanceof Error ? cause.message : String(cause));
    throw new RxllmError(code, `${what}: ${why}`, { cause });
  }
}
