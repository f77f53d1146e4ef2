import { firstValueFrom } from 'rxjs';
import type { KvPool, Logits, ModelRunner, TokenId } from '../contracts/index.ts';

/** Positions whose logits are held at once: 25 MB with a vocabulary of 49,152. */
const CHUNK = 128;

/** A pool that holds one window. */
export const windowPool = (window: number): KvPool => ({ layout: 'contiguous', blocks: 1, blockSize: window });

export interface ScoredChunk {
  /** The token that follows each of the positions. */
  readonly targets: readonly TokenId[];
  /** `[targets, vocab]`, valid until the next chunk is asked for. */
  readonly logits: Logits;
}

/** `ids` cut into consecutive windows, the last one shorter. */
export function windowsOf(ids: readonly TokenId[], window: number): (readonly TokenId[])[] {
  return Array.from({ length: Math.ceil(ids.length / window) }, (_, i) => ids.slice(i * window, (i + 1) * window));
}

/**
 * The logits of every position of a window that has a token after it, a chunk of positions at a time, which bounds memory
 * by the chunk and not by the window. The runner's pool is `windowPool`.
 */
export async function* windowLogits(runner: ModelRunner, window: readonly TokenId[]): AsyncGenerator<ScoredChunk> {
  const scored = window.length - 1;
  for (let start = 0; start < scored; start += CHUNK) {
    const ids = window.slice(start, Math.min(start + CHUNK, scored));
    const rectangle = { rows: 1, width: ids.length, ids: [ids], positions: [start], blockTables: [[0]] };
    const logits = await firstValueFrom(runner.forward({ ...rectangle, logitsAt: ids.map((_, i) => i) }));
    yield { targets: window.slice(start + 1, start + 1 + ids.length), logits };
  }
}
