import type { Sequence } from '../contracts/index.ts';

/** Weight of the newest measurement of a time. */
const NEWEST = 0.2;
/** A time is taken for at most so many times what was measured before: the machine may have done something else. */
const OUTLIER = 2;
/** Of a plain step, what a drafted token costs until it has been measured. */
const FIRST_COST = 0.25;
/** Steps after which a plain one is taken, to know what it takes now. */
const PLAIN_EVERY = 64;
/** What a sequence's past rounds weigh after each round. */
const FADING = 0.9;
/** So many tokens of the engine's acceptance stand at the beginning of a sequence's own. */
const PRIOR = 2;
/** Tokens drafted to see whether it pays again. */
const PROBE = 2;
/** The first round of a probe catches up, the second is measured. */
const PROBE_ROUNDS = 2;
/** Steps between probes: at first, and at most. */
const PATIENCE = { least: 16, most: 128 };

export interface DraftStep {
  readonly index: number;
  /** Milliseconds on the engine's clock. */
  readonly now: number;
  /** Prompt chunks ran beside the decoding rows, so that its time says nothing. */
  readonly hasPrefill: boolean;
  readonly decoding: readonly Sequence[];
}

interface Acceptance {
  tested: number;
  accepted: number;
}

interface Times {
  /** A step without drafts. */
  plain?: number;
  plainAt: number;
  /** What a drafted token adds to it. */
  perDraft?: number;
}

interface Adapting extends Acceptance {
  patience: number;
  /** The step in which it was drafted last. */
  draftedAt: number;
}

interface Taken {
  readonly step: DraftStep;
  /** The longest draft. */
  readonly length: number;
  readonly isMeasurable: boolean;
}

/**
 * How many tokens to draft for each row: the k that gives most tokens for its time, 0 where none pays. A token at depth i
 * is reached with probability aⁱ, so a step gives 1 + a + … + aᵏ tokens, and takes as long as a plain one and k times
 * what a drafted token has been seen to add; both are measured for each number of rows, from step to step.
 */
export class DraftLengths {
  readonly #longest: number;
  readonly #ofEngine: Acceptance = { tested: 4, accepted: 3 };
  readonly #times = new Map<number, Times>();
  readonly #sequences = new WeakMap<Sequence, Adapting>();
  #last: Taken | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Tokens to draft for each of `step.decoding`. */
  plan(step: DraftStep): number[] {
    this.#measure(step);
    const times = this.#timesFor(step.decoding.length);
    const isPlain = times.plain === undefined || step.index - times.plainAt >= PLAIN_EVERY;
    return step.decoding.map((sequence) => (isPlain ? 0 : this.#length(sequence, times, step.index)));
  }

  /** What was drafted in this step, a length for each of `step.decoding`. */
  took(step: DraftStep, lengths: readonly number[]): void {
    let isMeasurable = !step.hasPrefill;
    for (const [i, sequence] of step.decoding.entries()) {
      if (lengths[i] === 0) continue;
      const adapting = this.#adapting(sequence);
      // A proposer that was not asked in the step before has tokens to catch up with.
      if (adapting.draftedAt !== step.index - 1) isMeasurable = false;
      adapting.draftedAt = step.index;
    }
    this.#last = { step, length: Math.max(0, ...lengths), isMeasurable };
  }

  /** So many drafted tokens were looked at, and so many of them stood. */
  saw(sequence: Sequence, tested: number, accepted: number): void {
    const adapting = this.#adapting(sequence);
    for (const one of [adapting, this.#ofEngine]) {
      one.tested = one.tested * FADING + tested;
      one.accepted = one.accepted * FADING + accepted;
    }
  }

  #length(sequence: Sequence, { plain = 0, perDraft }: Times, index: number): number {
    const adapting = this.#adapting(sequence);
    const prior = (PRIOR * this.#ofEngine.accepted) / this.#ofEngine.tested;
    const acceptance = (adapting.accepted + prior) / (adapting.tested + PRIOR);
    const cost = perDraft === undefined ? FIRST_COST : plain === 0 ? 0 : perDraft / plain;
    const best = bestLength(acceptance, cost, this.#longest);
    if (best > 0) {
      adapting.patience = PATIENCE.least;
      return best;
    }
    // All rows probe in the same steps, so that the others stay plain.
    const round = index % adapting.patience;
    if (round === PROBE_ROUNDS) adapting.patience = Math.min(PATIENCE.most, adapting.patience * 2);
    return round < PROBE_ROUNDS ? Math.min(PROBE, this.#longest) : 0;
  }

  /** A step's time is known when the next one begins, if nothing lay between them. */
  #measure(step: DraftStep): void {
    const last = this.#last;
    this.#last = undefined;
    if (last === undefined || !last.isMeasurable || step.index !== last.step.index + 1) return;
    const ms = step.now - last.step.now;
    const times = this.#timesFor(last.step.decoding.length);
    if (last.length === 0) {
      times.plain = blend(times.plain, ms);
      times.plainAt = last.step.index;
    } else if (times.plain !== undefined) {
      times.perDraft = blend(times.perDraft, Math.max(0, ms - times.plain) / last.length);
    }
  }

  #timesFor(rows: number): Times {
    let times = this.#times.get(rows);
    if (times === undefined) {
      times = { plainAt: 0 };
      this.#times.set(rows, times);
    }
    return times;
  }

  #adapting(sequence: Sequence): Adapting {
    let adapting = this.#sequences.get(sequence);
    if (adapting === undefined) {
      adapting = { tested: 0, accepted: 0, patience: PATIENCE.least, draftedAt: Number.NEGATIVE_INFINITY };
      this.#sequences.set(sequence, adapting);
    }
    return adapting;
  }
}

/** The k from 0 to `longest` with most tokens per time; `cost` is a drafted token's, in plain steps. */
export function bestLength(acceptance: number, cost: number, longest: number): number {
  let best = 0;
  let most = 1;
  let tokens = 1;
  for (let k = 1; k <= longest; k++) {
    tokens += acceptance ** k;
    const perTime = tokens / (1 + k * cost);
    if (perTime <= most) continue;
    most = perTime;
    best = k;
  }
  return best;
}

function blend(before: number | undefined, now: number): number {
  if (before === undefined) return now;
  return before + (Math.min(now, Math.max(before, 1e-3) * OUTLIER) - before) * NEWEST;
}
