import type { Handle, OrtCalls } from './ort-calls.ts';
import { maySpin, threadCount } from './thread-count.ts';

/** Errors come back as statuses; they need not be printed as well. */
const LOG_FATAL_ONLY = 4;
const OPTIMIZE_ALL = 99;

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

/** Makes sessions in the environment of the process, which is never released. */
export class OrtSessions {
  /**
   * Sessions share the threads of the process, or the idle ones of a draft model would spin where the target computes
   * (seen: half the speed). One that wants another number, or none that spin, brings its own.
   */
  private readonly sharedThreads = { threads: threadCount(undefined), spin: maySpin(undefined) };
  private hasSharedThreads = true;
  private readonly calls: OrtCalls;
  private readonly env: Handle;
  /** What ONNX Runtime reads on another thread, where nobody else holds on to it. To ask for the buffer also pins it. */
  private readonly inUse = new Set<ArrayBufferLike>();

  constructor(calls: OrtCalls) {
    this.calls = calls;
    this.env = this.createEnvironment();
  }

  /** Rejects with RxllmError `RXLLM_RUNTIME_FAILED` where the model is refused. */
  async create(model: Uint8Array, options: SessionOptions): Promise<Handle> {
    const { threads, spin } = options;
    if (this.hasSharedThreads && threads === this.sharedThreads.threads && spin === this.sharedThreads.spin) {
      try {
        return await this.createOver('shared', model, options);
      } catch (error) {
        // The stock binding was first, and made an environment without threads.
        if (!String(error).includes('CreateEnvWithGlobalThreadPools')) throw error;
        this.hasSharedThreads = false;
      }
    }
    return this.createOver('own', model, options);
  }

  private createEnvironment(): Handle {
    const { calls } = this;
    const { f } = calls;
    const options = calls.create(f.CreateThreadingOptions);
    try {
      calls.check(f.SetGlobalIntraOpNumThreads(options, this.sharedThreads.threads));
      calls.check(f.SetGlobalSpinControl(options, this.sharedThreads.spin ? 1 : 0));
      return calls.create(f.CreateEnvWithGlobalThreadPools, LOG_FATAL_ONLY, 'rxllm', options);
    } finally {
      f.ReleaseThreadingOptions(options);
    }
  }

  private async createOver(pool: 'shared' | 'own', model: Uint8Array, settings: SessionOptions): Promise<Handle> {
    const { calls } = this;
    const { f } = calls;
    const { threads, spin, arena = true, weightsDirectory, profilePrefix } = settings;
    const options = calls.create(f.CreateSessionOptions);
    try {
      calls.check(f.SetSessionLogSeverityLevel(options, LOG_FATAL_ONLY));
      calls.check(f.SetSessionGraphOptimizationLevel(options, OPTIMIZE_ALL));
      calls.check(pool === 'shared' ? f.DisablePerSessionThreads(options) : f.SetIntraOpNumThreads(options, threads));
      if (!arena) calls.check(f.DisableCpuMemArena(options));
      calls.check(f.AddSessionConfigEntry(options, 'session.intra_op.allow_spinning', spin ? '1' : '0'));
      const folderKey = 'session.model_external_initializers_file_folder_path';
      calls.check(f.AddSessionConfigEntry(options, folderKey, weightsDirectory));
      if (profilePrefix !== undefined) calls.check(f.EnableProfiling(options, profilePrefix));
      this.inUse.add(model.buffer);
      return await calls.createElsewhere(f.CreateSessionFromArray, this.env, model, model.byteLength, options);
    } finally {
      this.inUse.delete(model.buffer);
      f.ReleaseSessionOptions(options);
    }
  }
}
