import { totalmem } from 'node:os';
import type { KvPool, Model } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { BYTES_PER_MIB, kvBytesPerToken } from './kv-bytes.ts';

/** @throws RxllmError `RXLLM_OPTION_INVALID` */
export function checkCount(param: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RxllmError('RXLLM_OPTION_INVALID', `${param} must be an integer of at least ${least}, not ${value}.`, {
    param,
  });
}

/**
 * Before anything is allocated: whether the machine has the memory for such a pool at all.
 * @throws RxllmError `RXLLM_OPTION_INVALID` that names the option from which the size comes.
 */
export function checkMemory(param: string, { blocks, blockSize }: Omit<KvPool, 'layout'>, { config }: Model): void {
  const bytes = blocks * blockSize * kvBytesPerToken(config);
  const total = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  if (bytes <= total) return;
  const [needed, there] = [bytes, total].map((size) => Math.ceil(size / BYTES_PER_MIB));
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `${param}: a KV cache of ${blocks} × ${blockSize} tokens takes ${needed} MiB, and this machine has ${there} MiB in ` +
      `all. Lower ${param}.`,
    { param },
  );
}
