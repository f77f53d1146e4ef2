import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AttentionVariant } from '../../src/core/graph/llama-graph.ts';

export interface PrefillSettings {
  readonly directory: string;
  readonly attention: AttentionVariant;
  /** Of the prompt, all in one chunk. */
  readonly tokens: number;
  /**
   * ONNX Runtime's arena takes memory in regions of powers of two and never gives it back: what a server holds. Without
   * it a tensor's memory goes back to the system with the tensor, and the peak is what was alive at once.
   */
  readonly arena: boolean;
}

const CHILD = fileURLToPath(new URL('prefill-memory-child.ts', import.meta.url));
/** glibc keeps freed blocks under its threshold, which it raises by itself; a threshold that is set stays. */
const GIVE_BACK = { MALLOC_MMAP_THRESHOLD_: '262144', MALLOC_TRIM_THRESHOLD_: '262144' };

/**
 * What a prompt in one chunk adds to a process's resident memory at its peak, in MiB: above the same process after the
 * same prompt in chunks of 64, with weights and KV cache in memory. A child of its own for each, on Linux.
 */
export async function prefillMemory({ directory, attention, tokens, arena }: PrefillSettings): Promise<number> {
  const args = ['--import', 'tsx', CHILD, directory, attention, String(tokens), arena ? 'arena' : 'no-arena'];
  const env = { ...process.env, ...(arena ? {} : GIVE_BACK) };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return Number(stdout);
}
