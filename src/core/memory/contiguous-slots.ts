import type {
  EngineOptions,
  KvAllocator,
  KvPool,
  KvSlot,
  KvSnapshot,
  Model,
  Reservation,
  Sequence,
} from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { checkCount, checkMemory } from './check-size.ts';
import { BYTES_PER_MIB, kvBytesPerToken } from './kv-bytes.ts';
import { NO_PREFIX_CACHE } from './no-cache.ts';

export interface ContiguousSlotsOptions {
  /** Sequences that fit at once; absent: `maxNumSeqs`, or as many as `kvCacheMemoryMiB` holds if they are fewer. */
  readonly slots?: number;
}

/**
 * One region of `maxModelLen` tokens a sequence, whatever its length: simple and fast, and wasteful for short
 * sequences (the limit that paged blocks lift).
 * @throws RxllmError `RXLLM_OPTION_INVALID` when not even one region fits, or there is less memory than they take.
 */
export function contiguousSlots({ slots }: ContiguousSlotsOptions = {}): KvSlot {
  return (model, options) => {
    const { maxModelLen } = options;
    const fitting = slotsThatFit(model, options);
    if (slots === undefined) {
      checkMemory('kvCacheMemoryMiB', { blocks: fitting, blockSize: maxModelLen }, model);
      return new ContiguousSlots(fitting, maxModelLen);
    }
    checkCount('slots', slots, 1);
    checkMemory('slots', { blocks: slots, blockSize: maxModelLen }, model);
    return new ContiguousSlots(slots, maxModelLen);
  };
}

function slotsThatFit(model: Model, { kvCacheMemoryMiB, maxModelLen, maxNumSeqs }: EngineOptions): number {
  const bytesPerSlot = kvBytesPerToken(model.config) * maxModelLen;
  const slots = Math.floor((kvCacheMemoryMiB * BYTES_PER_MIB) / bytesPerSlot);
  if (slots >= 1) return Math.min(slots, maxNumSeqs);
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `kvCacheMemoryMiB ${kvCacheMemoryMiB} is too small: one sequence of maxModelLen ${maxModelLen} tokens needs ` +
      `${Math.ceil(bytesPerSlot / BYTES_PER_MIB)} MiB. Raise kvCacheMemoryMiB or lower maxModelLen.`,
    { param: 'kvCacheMemoryMiB' },
  );
}

class ContiguousSlots implements KvAllocator {
  readonly pool: KvPool;
  readonly prefixCache = NO_PREFIX_CACHE;
  readonly #holders: (Sequence | undefined)[];

  constructor(slots: number, maxModelLen: number) {
    this.pool = { layout: 'contiguous', blocks: slots, blockSize: maxModelLen };
    this.#holders = new Array<Sequence | undefined>(slots).fill(undefined);
  }

  get total(): number {
    return this.pool.blocks;
  }

  get used(): number {
    return this.#holders.reduce((used, holder) => used + (holder ? 1 : 0), 0);
  }

  get maxSequenceTokens(): number {
    return this.pool.blockSize;
  }

  cachedTokens(): number {
    return 0;
  }

  /** @throws RxllmError `RXLLM_CONTEXT_LENGTH_EXCEEDED` when the sequence would outgrow its region. */
  reserve(sequence: Sequence, newTokens: number): Reservation | undefined {
    const length = sequence.computed + newTokens;
    if (length > this.maxSequenceTokens) {
      throw new RxllmError(
        'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        `Sequence ${sequence.id} would be ${length} tokens long, but its KV region holds ${this.maxSequenceTokens}. ` +
          'Shorten the prompt, ask for fewer tokens, or raise maxModelLen.',
      );
    }
    if (!this.#holders.includes(sequence)) {
      const slot = this.#holders.indexOf(undefined);
      if (slot === -1) return undefined;
      this.#holders[slot] = sequence;
      sequence.blocks.push(slot);
      sequence.cached = 0;
    }
    return { blocks: [...sequence.blocks] };
  }

  /** The region stays: what lies past `length` is overwritten by the tokens that come next. */
  truncate(): void {}

  free(sequence: Sequence): void {
    const slot = this.#holders.indexOf(sequence);
    if (slot === -1) return;
    this.#holders[slot] = undefined;
    sequence.blocks.length = 0;
  }

  publish(): void {}

  snapshot(): KvSnapshot {
    const holders = this.#holders.filter((holder) => holder !== undefined);
    return { tables: new Map(holders.map(({ id, blocks }) => [id, [...blocks]])), cached: [] };
  }

  checkInvariants(): void {
    const holders = this.#holders.filter((holder) => holder !== undefined);
    if (new Set(holders).size !== holders.length) throw new Error('A sequence holds two slots.');
    const free = this.#holders.filter((holder) => holder === undefined).length;
    if (this.used + free !== this.total)
      throw new Error(`${this.used} used + ${free} free is not ${this.total} slots.`);
    this.#holders.forEach((holder, slot) => {
      if (!holder || (holder.blocks.length === 1 && holder.blocks[0] === slot)) return;
      throw new Error(`Slot ${slot} is given to sequence ${holder.id}, whose blocks are [${holder.blocks}].`);
    });
  }
}
