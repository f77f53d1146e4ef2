import {
  type EngineOptions,
  type KvAllocator,
  type KvSlot,
  type Model,
  type Reservation,
  resolveOptions,
  resolveParams,
  type Sequence,
  type TokenId,
} from 'rxllm';

/** An allocator by itself: block ids are handed out and counted, and no memory is behind them. */
export const allocatorOf = (kv: KvSlot, model: Model, options: Partial<EngineOptions> = {}): KvAllocator =>
  kv(model, resolveOptions(model, options));

/** A sequence as `tokenize` makes it, of which an allocator needs only ids, tokens and salt. */
export function sequenceOf(id: string, tokens: readonly TokenId[], cacheSalt?: string): Sequence {
  return {
    id,
    request: { prompt: tokens, ...(cacheSalt !== undefined && { cacheSalt }) },
    params: resolveParams(),
    arrivedAt: 0,
    tokens: [...tokens],
    promptLength: tokens.length,
    computed: 0,
    cached: 0,
    blocks: [],
    decoder: { push: () => '', flush: () => '' },
    text: '',
    phase: 'running',
  };
}

/** What a step does to the books: room for all that is not in memory yet, then computed and published. */
export function runOnce(kv: KvAllocator, sequence: Sequence): Reservation | undefined {
  const newTokens = sequence.tokens.length - (sequence.computed || kv.cachedTokens(sequence));
  const reservation = kv.reserve(sequence, newTokens);
  if (reservation === undefined) return undefined;
  sequence.computed = sequence.tokens.length;
  kv.publish(sequence);
  return reservation;
}
