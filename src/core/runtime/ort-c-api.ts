import koffi from 'koffi';
import { RxllmError } from '../errors.ts';
import { type Handle, OrtCalls } from './ort-calls.ts';
import { loadOrtFunctions, type OrtFunctions } from './ort-functions.ts';
import { ortLibraryPath } from './ort-library.ts';
import { OrtSessions, type SessionOptions } from './ort-sessions.ts';

export type { Handle } from './ort-calls.ts';

/** The memory of a tensor. int64 is written as pairs of words (see `InputTensor.data`), hence the dtype beside it. */
export type TensorData = Float32Array | Int32Array;
export type TensorDtype = 'float32' | 'int32' | 'int64';

const ELEMENT_TYPE: Record<TensorDtype, number> = { float32: 1, int32: 6, int64: 7 };
const ARENA_ALLOCATOR = 1;
const MEMORY_DEFAULT = 0;

/** The part of ONNX Runtime's C API that a runner needs. There is one for the process (`ortCApi`). */
export class OrtCApi {
  readonly version: string;
  /** What was created and is not released yet; all of it outlives a runner that leaks. */
  readonly live = { sessions: 0, bindings: 0, tensors: 0 };
  private readonly f: OrtFunctions;
  private readonly calls: OrtCalls;
  private readonly sessions: OrtSessions;
  private readonly memory: Handle;

  constructor(path: string) {
    const { version, functions } = loadOrtFunctions(path);
    this.version = version;
    this.f = functions;
    this.calls = new OrtCalls(functions);
    this.sessions = new OrtSessions(this.calls);
    this.memory = this.calls.create(functions.CreateCpuMemoryInfo, ARENA_ALLOCATOR, MEMORY_DEFAULT);
  }

  /** Off the JavaScript thread. Rejects with RxllmError `RXLLM_RUNTIME_FAILED` where the model is refused. */
  async createSession(model: Uint8Array, options: SessionOptions): Promise<Handle> {
    const session = await this.sessions.create(model, options);
    this.live.sessions += 1;
    return session;
  }

  /** A tensor over `data`, which must stay reachable until the tensor is released. */
  createTensor(data: TensorData, dtype: TensorDtype, shape: readonly number[]): Handle {
    // Typed arrays under 64 bytes live on V8's heap and may move; asking for the buffer pins them.
    void data.buffer;
    const dims = BigInt64Array.from(shape, BigInt);
    const value = this.calls.create(
      this.f.CreateTensorWithDataAsOrtValue,
      this.memory,
      data,
      data.byteLength,
      dims,
      dims.length,
      ELEMENT_TYPE[dtype],
    );
    this.live.tensors += 1;
    return value;
  }

  createBinding(session: Handle): Handle {
    const binding = this.calls.create(this.f.CreateIoBinding, session);
    this.live.bindings += 1;
    return binding;
  }

  bindInput(binding: Handle, name: string, value: Handle): void {
    this.calls.check(this.f.BindInput(binding, name, value));
  }

  bindOutput(binding: Handle, name: string, value: Handle): void {
    this.calls.check(this.f.BindOutput(binding, name, value));
  }

  run(session: Handle, binding: Handle): void {
    this.calls.check(this.f.RunWithBinding(session, null, binding));
  }

  runAsync(session: Handle, binding: Handle): Promise<void> {
    return this.calls.callElsewhere(this.f.RunWithBinding, session, null, binding);
  }

  /** Of a session with a profile: closes its file, a JSON array of events (Chrome's trace format), and gives its path. */
  endProfiling(session: Handle): string {
    const allocator = this.calls.create(this.f.GetAllocatorWithDefaultOptions);
    const name = this.calls.create(this.f.SessionEndProfiling, session, allocator);
    const path = koffi.decode(name, 'char', -1) as string;
    this.calls.check(this.f.AllocatorFree(allocator, name));
    return path;
  }

  releaseSession(session: Handle): void {
    this.f.ReleaseSession(session);
    this.live.sessions -= 1;
  }

  releaseBinding(binding: Handle): void {
    this.f.ReleaseIoBinding(binding);
    this.live.bindings -= 1;
  }

  releaseTensor(value: Handle): void {
    this.f.ReleaseValue(value);
    this.live.tensors -= 1;
  }
}

let shared: OrtCApi | undefined;

/**
 * The C API over the library that onnxruntime-node ships: one environment for the process, never released.
 * @throws RxllmError `RXLLM_RUNTIME_UNAVAILABLE`
 */
export function ortCApi(): OrtCApi {
  if (shared !== undefined) return shared;
  const path = ortLibraryPath();
  try {
    shared = new OrtCApi(path);
    return shared;
  } catch (cause) {
    if (cause instanceof RxllmError && cause.code === 'RXLLM_OPTION_INVALID') throw cause;
    const message = `${path} cannot be used: ${String(cause)}; use the stock runtime`;
    throw new RxllmError('RXLLM_RUNTIME_UNAVAILABLE', message, { cause });
  }
}
