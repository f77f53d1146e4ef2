import { firstValueFrom } from 'rxjs';
import type { ForwardBatch, KvPool, Logits, ModelRunner, TokenId } from '../../src/core/contracts/index.ts';

/** One sequence on a runner: what an engine would know of it. */
export interface Row {
  readonly blocks: readonly number[];
  readonly start: number;
  readonly ids: readonly TokenId[];
}

/** A batch of rows, with the logits of each row's last token wanted. */
export function batchOf(rows: readonly Row[]): ForwardBatch {
  const width = Math.max(...rows.map((row) => row.ids.length));
  return {
    rows: rows.length,
    width,
    ids: rows.map((row) => row.ids),
    positions: rows.map((row) => row.start),
    blockTables: rows.map((row) => row.blocks),
    logitsAt: rows.map((row, i) => i * width + row.ids.length - 1),
  };
}

/** The last token's logits of each row, copied. */
export async function forward(runner: ModelRunner, rows: readonly Row[]): Promise<Float32Array[]> {
  return logitsRows(await firstValueFrom(runner.forward(batchOf(rows))));
}

export function logitsRows({ rows, vocab, data }: Logits): Float32Array[] {
  return Array.from({ length: rows }, (_, row) => data.slice(row * vocab, (row + 1) * vocab));
}

export function argmax(logits: Float32Array): TokenId {
  return logits.reduce((best, value, id) => (value > logits[best]! ? id : best), 0);
}

export interface Greedy {
  readonly ids: TokenId[];
  /** Of the prompt's last token. */
  readonly promptLogits: Float32Array;
}

/** Feeds the prompt in chunks, then decodes greedily. Without a cache each pass runs the whole sequence. */
export async function greedy(
  runner: ModelRunner,
  pool: KvPool,
  prompt: readonly TokenId[],
  newTokens: number,
  { chunk = prompt.length, blocks = someBlocks(pool, prompt.length + newTokens) } = {},
): Promise<Greedy> {
  const tokens = [...prompt];
  const pass = async (start: number, ids: readonly TokenId[]): Promise<Float32Array> => {
    const row = pool.layout === 'none' ? { blocks, start: 0, ids: tokens } : { blocks, start, ids };
    const [logits] = await forward(runner, [row]);
    return logits!;
  };
  let logits = new Float32Array();
  if (pool.layout === 'none') logits = new Float32Array(await pass(0, tokens));
  else {
    for (let at = 0; at < prompt.length; at += chunk) {
      logits = new Float32Array(await pass(at, prompt.slice(at, at + chunk)));
    }
  }
  const promptLogits = logits;
  const ids: TokenId[] = [];
  while (ids.length < newTokens) {
    const next = argmax(logits);
    ids.push(next);
    tokens.push(next);
    if (ids.length < newTokens) logits = new Float32Array(await pass(tokens.length - 1, [next]));
  }
  return { ids, promptLogits };
}

/** Blocks for so many tokens, out of order under `paged`. */
export function someBlocks(pool: KvPool, tokens: number): number[] {
  if (pool.layout === 'none') return [];
  if (pool.layout === 'contiguous') return [1];
  const needed = Math.ceil(tokens / pool.blockSize);
  const stride = coprime(pool.blocks - 1);
  return Array.from({ length: needed }, (_, i) => 1 + ((i * stride + 3) % (pool.blocks - 1)));
}

function coprime(n: number): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  for (let stride = 7; ; stride++) if (gcd(stride, n) === 1) return stride;
}
