import { freemem } from 'node:os';
import type { MatrixKernel } from '../../core/profiling/weight-traffic.ts';
import { threadCount } from '../../core/runtime/thread-count.ts';
import { copyBandwidth } from './copy-bandwidth.ts';
import { KERNELS, matmulRate } from './matmul-rate.ts';

/** What this machine can do at most, by measurement, with as many threads as an engine computes with. */
export interface Ceilings {
  readonly threads: number;
  /** Bytes a second of a copy that no cache holds. */
  readonly memory: number;
  /** Bytes a second of a copy that spans `cachedBytes`: more than `memory` where a cache holds as much. */
  readonly cached: number;
  readonly cachedBytes: number;
  /** FLOPs a second. */
  readonly flops: Readonly<Record<MatrixKernel, number>>;
}

export interface CeilingsOptions {
  readonly threads?: number;
  /** What a decode step reads, in bytes. */
  readonly cachedBytes: number;
  /** Default 1 GiB, or a quarter of the free memory. */
  readonly copyBytes?: number;
  /** Default 1024. */
  readonly side?: number;
  readonly rounds?: number;
}

/** A few seconds. @throws RxllmError `RXLLM_OPTION_INVALID` for `RXLLM_THREADS` */
export async function measureCeilings(options: CeilingsOptions): Promise<Ceilings> {
  const { cachedBytes, copyBytes = Math.min(2 ** 30, freemem() / 4), side = 1024, rounds = 12 } = options;
  const threads = threadCount(options.threads);
  const memory = await copyBandwidth({ threads, bytes: copyBytes });
  const cached = cachedBytes < copyBytes ? await copyBandwidth({ threads, bytes: cachedBytes }) : memory;
  const flops: [MatrixKernel, number][] = [];
  for (const kernel of KERNELS) flops.push([kernel, await matmulRate(kernel, { threads, side, rounds })]);
  return { threads, memory, cached, cachedBytes, flops: Object.fromEntries(flops) as Ceilings['flops'] };
}
