import { RxllmError } from '../errors.ts';
import type { Call, OrtFunctions } from './ort-functions.ts';

/** An object of ONNX Runtime's. */
export type Handle = bigint;
/** What most functions return: null when it went well. */
export type Status = Handle | null;

/** How ONNX Runtime's functions are called: by a status they tell how it went, and what they make they write into a place. */
export class OrtCalls {
  readonly f: OrtFunctions;

  constructor(functions: OrtFunctions) {
    this.f = functions;
  }

  /** What `call` writes to its last argument. @throws as `check` does */
  create(call: Call, ...args: unknown[]): Handle {
    const out: [Handle | null] = [null];
    this.check(call(...args, out));
    return out[0]!;
  }

  /**
   * The same, on one of libuv's threads while JavaScript goes on. Memory that the arguments point to must stay reachable
   * until then. Rejects as `check` throws.
   */
  async createElsewhere(call: Call, ...args: unknown[]): Promise<Handle> {
    const out: [Handle | null] = [null];
    await this.callElsewhere(call, ...args, out);
    return out[0]!;
  }

  /** Calls what returns a status, on one of libuv's threads. Rejects as `check` throws. */
  callElsewhere(call: Call, ...args: unknown[]): Promise<void> {
    return new Promise((resolve, reject) => {
      call.async(...args, (error: unknown, status: Status) => {
        try {
          if (error) throw error;
          this.check(status);
          resolve();
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }

  /** @throws RxllmError `RXLLM_RUNTIME_FAILED` with ONNX Runtime's message */
  check(status: unknown): void {
    if (status === null) return;
    const message = this.f.GetErrorMessage(status) as string;
    this.f.ReleaseStatus(status);
    throw new RxllmError('RXLLM_RUNTIME_FAILED', `ONNX Runtime: ${message}`);
  }
}
