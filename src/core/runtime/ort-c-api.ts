import koffi from 'koffi';
import { RxllmError } from '../errors.ts';
import { type Call, loadOrtFunctions, type OrtFunctions } from './ort-functions.ts';
import { ortLibraryPath } from './ort-library.ts';
import { maySpin, threadCount } from './thread-count.ts';

/** An object of ONNX Runtime's. */
export type Handle = bigint;
/** What an API call returns: null when it went well. */
type Status = Handle | null;

/** The memory of a tensor. int64 is written as pairs of words (see `InputTensor.data`), hence the dtype beside it. */
export type TensorData = Float32Array | Int32Array;
export type TensorDtype = 'float32' | 'int32' | 'int64';

const ELEMENT_TYPE: Record<TensorDtype, number> = { float32: 1, int32: 6, int64: 7 };
/** Errors come back as statuses; they need not be printed as well. */
const LOG_FATAL_ONLY = 4;
const OPTIMIZE_ALL = 99;
const ARENA_ALLOCATOR = 1;
const MEMORY_DEFAULT = 0;

export interface SessionOptions {
  readonly threads: number;
  /** Whether idle threads of the pool spin for a moment, which is faster, or sleep at once. */
  readonly spin: boolean;
  /** Default true: memory of a pass is kept for the next, in regions of powers of two. Without, it goes back at once. */
  readonly arena?: boolean;
  /** What external data in the model is relative to. */
  readonly weightsDirectory: string;
  /** The session writes a profile, as `endProfiling` says, into a file whose path begins like this. */
  readonly profilePrefix?: string;
}

/** The part of ONNX Runtime's C API that a runner needs. There is one for the process (`ortCApi`). */
export class OrtCApi {
  readonly version: string;
  /** What was created and is not released yet; all of it outlives a runner that leaks. */
  readonly live = { sessions: 0, bindings: 0, tensors: 0 };
  /**
   * Sessions share the threads of the process, or the idle ones of a draft model would spin where the target computes
   * (seen: half the speed). One that wants another number, or none that spin, brings its own.
   */
  private readonly sharedThreads = { threads: threadCount(undefined), spin: maySpin(undefined) };
  private hasSharedThreads = true;
  private readonly f: OrtFunctions;
  private readonly env: Handle;
  private readonly memory: Handle;

  constructor(path: string) {
    const { version, functions } = loadOrtFunctions(path);
    this.version = version;
    this.f = functions;
    this.env = this.createEnvironment();
    this.memory = this.create(this.f.CreateCpuMemoryInfo, ARENA_ALLOCATOR, MEMORY_DEFAULT);
  }

  createSession(model: Uint8Array, options: SessionOptions): Handle {
    const { threads, spin } = options;
    if (this.hasSharedThreads && threads === this.sharedThreads.threads && spin === this.sharedThreads.spin) {
      try {
        return this.createSessionOver('shared', model, options);
      } catch (error) {
        // The stock binding was first, and made an environment without threads.
        if (!String(error).includes('CreateEnvWithGlobalThreadPools')) throw error;
        this.hasSharedThreads = false;
      }
    }
    return this.createSessionOver('own', model, options);
  }

  /** A tensor over `data`, which must stay reachable until the tensor is released. */
  createTensor(data: TensorData, dtype: TensorDtype, shape: readonly number[]): Handle {
    // Typed arrays under 64 bytes live on V8's heap and may move; asking for the buffer pins them.
    void data.buffer;
    const dims = BigInt64Array.from(shape, BigInt);
    const value = this.create(
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
    const binding = this.create(this.f.CreateIoBinding, session);
    this.live.bindings += 1;
    return binding;
  }

  bindInput(binding: Handle, name: string, value: Handle): void {
    this.check(this.f.BindInput(binding, name, value));
  }

  bindOutput(binding: Handle, name: string, value: Handle): void {
    this.check(this.f.BindOutput(binding, name, value));
  }

  run(session: Handle, binding: Handle): void {
    this.check(this.f.RunWithBinding(session, null, binding));
  }

  runAsync(session: Handle, binding: Handle): Promise<void> {
    return new Promise((resolve, reject) => {
      this.f.RunWithBinding.async(session, null, binding, (error: unknown, status: Status) => {
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

  /** Of a session with a profile: closes its file, a JSON array of events (Chrome's trace format), and gives its path. */
  endProfiling(session: Handle): string {
    const allocator = this.create(this.f.GetAllocatorWithDefaultOptions);
    const name = this.create(this.f.SessionEndProfiling, session, allocator);
    const path = koffi.decode(name, 'char', -1) as string;
    this.check(this.f.AllocatorFree(allocator, name));
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

  private createEnvironment(): Handle {
    const { f } = this;
    const options = this.create(f.CreateThreadingOptions);
    try {
      this.check(f.SetGlobalIntraOpNumThreads(options, this.sharedThreads.threads));
      this.check(f.SetGlobalSpinControl(options, this.sharedThreads.spin ? 1 : 0));
      return this.create(f.CreateEnvWithGlobalThreadPools, LOG_FATAL_ONLY, 'rxllm', options);
    } finally {
      f.ReleaseThreadingOptions(options);
    }
  }

  private createSessionOver(pool: 'shared' | 'own', model: Uint8Array, settings: SessionOptions): Handle {
    const { f } = this;
    const { threads, spin, arena = true, weightsDirectory, profilePrefix } = settings;
    const options = this.create(f.CreateSessionOptions);
    try {
      this.check(f.SetSessionLogSeverityLevel(options, LOG_FATAL_ONLY));
      this.check(f.SetSessionGraphOptimizationLevel(options, OPTIMIZE_ALL));
      this.check(pool === 'shared' ? f.DisablePerSessionThreads(options) : f.SetIntraOpNumThreads(options, threads));
      if (!arena) this.check(f.DisableCpuMemArena(options));
      this.check(f.AddSessionConfigEntry(options, 'session.intra_op.allow_spinning', spin ? '1' : '0'));
      const folderKey = 'session.model_external_initializers_file_folder_path';
      this.check(f.AddSessionConfigEntry(options, folderKey, weightsDirectory));
      if (profilePrefix !== undefined) this.check(f.EnableProfiling(options, profilePrefix));
      const session = this.create(f.CreateSessionFromArray, this.env, model, model.byteLength, options);
      this.live.sessions += 1;
      return session;
    } finally {
      f.ReleaseSessionOptions(options);
    }
  }

  private create(call: Call, ...args: unknown[]): Handle {
    const out: [Handle | null] = [null];
    this.check(call(...args, out));
    return out[0]!;
  }

  /** @throws RxllmError `RXLLM_RUNTIME_FAILED` with ONNX Runtime's message */
  private check(status: unknown): void {
    if (status === null) return;
    const message = this.f.GetErrorMessage(status) as string;
    this.f.ReleaseStatus(status);
    throw new RxllmError('RXLLM_RUNTIME_FAILED', `ONNX Runtime: ${message}`);
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
