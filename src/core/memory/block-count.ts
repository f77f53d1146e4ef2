import type { EngineOptions, Model } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { checkCount, checkMemory } from './check-size.ts';
import { BYTES_PER_MIB, kvBytesPerToken } from './kv-bytes.ts';

/** The free list is a Set, which has at most so many entries. */
const MOST_BLOCKS = 2 ** 24;

/** `param` is the option that their number comes from. */
export function checkBlocks(blocks: number, blockSize: number, model: Model, param: string): void {
  checkCount('blocks', blocks, 2);
  checkMemory(param, { blocks, blockSize }, model);
  if (blocks <= MOST_BLOCKS) return;
  throw new RxllmError('RXLLM_OPTION_INVALID', `${param}: ${blocks} blocks are more than ${MOST_BLOCKS}.`, { param });
}

/** How many `kvCacheMemoryMiB` holds, the trash block among them. */
export function blocksThatFit({ config }: Model, { kvCacheMemoryMiB }: EngineOptions, blockSize: number): number {
  const bytesPerBlock = kvBytesPerToken(config) * blockSize;
  const blocks = Math.floor((kvCacheMemoryMiB * BYTES_PER_MIB) / bytesPerBlock);
  if (blocks >= 2) return blocks;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `kvCacheMemoryMiB ${kvCacheMemoryMiB} is too small: a block of ${blockSize} tokens and the one for padding need ` +
      `${Math.ceil((2 * bytesPerBlock) / BYTES_PER_MIB)} MiB. Raise kvCacheMemoryMiB or lower blockSize.`,
    { param: 'kvCacheMemoryMiB' },
  );
}
