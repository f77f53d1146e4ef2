/** Latest times kept of each length. */
const KEPT = 8;
/** The first times of a length include what is made once for a new shape; fewer than these are not trusted. */
const TRUSTED = 3;
/** What a drafted token is taken to cost, as a share of a step without drafts, until a length is trusted. */
const ASSUMED_COST = 0.25;
/** The older a time, the lower its estimate, so that its length is tried again: by `most`, once it is `after` steps old. */
const DISCOUNT = { most: 0.2, after: 256 };
/** Steps after which one without drafts is measured again. */
const PLAIN_EVERY = 64;

/** Of steps with drafts of one length. */
interface Timing {
  /** Milliseconds of the latest. */
  readonly ms: number[];
  /** The index of the last of them. */
  at: number;
}

/** How long decode steps take, in milliseconds: by the number of rows and by the length k of the longest draft. */
export class StepTimes {
  readonly #longest: number;
  readonly #byRows = new Map<number, readonly Timing[]>();

  constructor(longest: number) {
    this.#longest = longest;
  }

  record(rows: number, k: number, ms: number, index: number): void {
    const timing = this.#timings(rows)[k]!;
    timing.ms.push(ms);
    if (timing.ms.length > KEPT) timing.ms.shift();
    timing.at = index;
  }

  /** Whether step `index` should go without drafts, since what such a step takes is not known, or no longer. */
  needsPlain(rows: number, index: number): boolean {
    const plain = this.#timings(rows)[0]!;
    return plain.ms.length < TRUSTED || index - plain.at >= PLAIN_EVERY;
  }

  /** What step `index` is expected to take for each k from 0 to the longest; less than measured where k should be tried. */
  estimates(rows: number, index: number): number[] {
    const timings = this.#timings(rows);
    const low = timings.map(lowTime);
    const plain = low[0]!;
    const isTrusted = (k: number) => timings[k]!.ms.length >= TRUSTED;
    const costs = low.map((ms, k) => (k > 0 && isTrusted(k) ? (ms - plain) / k : ASSUMED_COST * plain));
    const perToken = Math.max(0, Math.min(...costs));
    return low.map((ms, k) => {
      if (k === 0) return plain;
      if (!isTrusted(k)) return Math.min(ms, (plain + k * perToken) * (1 - DISCOUNT.most));
      const age = Math.min(1, (index - timings[k]!.at) / DISCOUNT.after);
      return ms * (1 - DISCOUNT.most * age);
    });
  }

  #timings(rows: number): readonly Timing[] {
    let timings = this.#byRows.get(rows);
    if (timings === undefined) {
      timings = Array.from({ length: this.#longest + 1 }, () => ({ ms: [], at: 0 }));
      this.#byRows.set(rows, timings);
    }
    return timings;
  }
}

/** The lower quartile: whatever else the machine does only adds to a time. */
function lowTime({ ms }: Timing): number {
  return [...ms].sort((a, b) => a - b)[Math.floor(ms.length / 4)] ?? Number.POSITIVE_INFINITY;
}
