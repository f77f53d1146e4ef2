import type { Sequence } from '../contracts/index.ts';

/** Times kept of each length. */
const KEPT = 8;
/** The first ones pay for what is made once a shape: so many are needed before they are believed. */
const BELIEVED = 3;
/** Of a plain step, what a drafted token costs until then. */
const FIRST_COST = 0.25;
/** A length that has not been tried for long looks cheaper, at most by so much, after so many steps. */
const HOPE = { most: 0.2, after: 256 };
/** Plain steps before the first draft, so that their time is known. */
const FIRST_PLAIN = BELIEVED;
/** Steps after which a plain one is taken, to know what it takes now. */
const PLAIN_EVERY = 64;
/** What a sequence's past rounds weigh after each round. */
const FADING = 0.9;
/** So many tokens of the engine's acceptance stand at the beginning of a sequence's own. */
const PRIOR = 2;
/** Tokens drafted to see whether it pays again. */
const PROBE = 2;
/** A probe goes on for so many rounds while some of each draft stands. */
const PROBE_ROUNDS = 3;
/** Steps between probes: at first, at first where it has not paid lately, and at most. */
const PATIENCE = { least: 32, inherited: 128, most: 256 };

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

/** Of steps with drafts of one length. */
interface Timing {
  /** Milliseconds of the latest. */
  readonly ms: number[];
  /** The step of the last of them. */
  at: number;
}

interface Adapting extends Acceptance {
  patience: number;
  /** The step in which it was drafted last. */
  draftedAt: number;
  /** Whether anything of that draft was accepted. */
  stood: boolean;
}

interface Taken {
  readonly step: DraftStep;
  /** The longest draft. */
  readonly length: number;
  readonly isMeasurable: boolean;
}

/**
 * How many tokens to draft for each row: the k that gives most tokens for its time, 0 where none pays. A token at depth i
 * is reached with probability aⁱ, so a step gives 1 + a + … + aᵏ tokens; how long it takes is measured, for each number of
 * rows and each k, from step to step.
 */
export class DraftLengths {
  readonly #longest: number;
  readonly #ofEngine: Acceptance = { tested: 4, accepted: 3 };
  /** By number of rows, then by the length of the longest draft. */
  readonly #timings = new Map<number, Timing[]>();
  readonly #sequences = new WeakMap<Sequence, Adapting>();
  /** Of a sequence that comes: texts that follow each other are often of one kind. */
  #patience = PATIENCE.least;
  #last: Taken | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Tokens to draft for each of `step.decoding`. */
  plan(step: DraftStep): number[] {
    this.#measure(step);
    const timings = this.#timingsFor(step.decoding.length);
    const [plain] = timings;
    const isPlain = plain!.ms.length < FIRST_PLAIN || step.index - plain!.at >= PLAIN_EVERY;
    return step.decoding.map((sequence) => (isPlain ? 0 : this.#length(sequence, timings, step.index)));
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
    adapting.stood = accepted > 0;
    for (const one of [adapting, this.#ofEngine]) {
      one.tested = one.tested * FADING + tested;
      one.accepted = one.accepted * FADING + accepted;
    }
  }

  #length(sequence: Sequence, timings: readonly Timing[], index: number): number {
    const adapting = this.#adapting(sequence);
    const prior = (PRIOR * this.#ofEngine.accepted) / this.#ofEngine.tested;
    const acceptance = (adapting.accepted + prior) / (adapting.tested + PRIOR);
    const best = bestLength(acceptance, (length) => timeOf(length, timings, index), this.#longest);
    if (best > 0) {
      adapting.patience = PATIENCE.least;
      this.#patience = PATIENCE.least;
      return best;
    }
    // All rows probe in the same steps, so that the others stay plain.
    const round = index % adapting.patience;
    if (round === 0 || (round < PROBE_ROUNDS && adapting.stood)) return Math.min(PROBE, this.#longest);
    if (round === PROBE_ROUNDS) {
      adapting.patience = Math.min(PATIENCE.most, adapting.patience * 2);
      this.#patience = Math.min(PATIENCE.inherited, adapting.patience);
    }
    return 0;
  }

  /** A step's time is known when the next one begins, if nothing lay between them. */
  #measure(step: DraftStep): void {
    const last = this.#last;
    this.#last = undefined;
    if (last === undefined || !last.isMeasurable || step.index !== last.step.index + 1) return;
    // A clock may stand still, as in a replay.
    const ms = Math.max(step.now - last.step.now, 1e-3);
    const timing = this.#timingsFor(last.step.decoding.length)[last.length]!;
    timing.ms.push(ms);
    if (timing.ms.length > KEPT) timing.ms.shift();
    timing.at = last.step.index;
  }

  #timingsFor(rows: number): Timing[] {
    let timings = this.#timings.get(rows);
    if (timings === undefined) {
      timings = Array.from({ length: this.#longest + 1 }, () => ({ ms: [], at: 0 }));
      this.#timings.set(rows, timings);
    }
    return timings;
  }

  #adapting(sequence: Sequence): Adapting {
    let adapting = this.#sequences.get(sequence);
    if (adapting === undefined) {
      adapting = {
        tested: 0,
        accepted: 0,
        patience: this.#patience,
        draftedAt: Number.NEGATIVE_INFINITY,
        stood: false,
      };
      this.#sequences.set(sequence, adapting);
    }
    return adapting;
  }
}

/** The k from 0 to `longest` that gives most tokens for its time; `timeOf` a step that drafts k. */
export function bestLength(acceptance: number, timeOf: (k: number) => number, longest: number): number {
  let best = 0;
  let most = 1 / timeOf(0);
  let tokens = 1;
  for (let k = 1; k <= longest; k++) {
    tokens += acceptance ** k;
    const perTime = tokens / timeOf(k);
    if (perTime <= most) continue;
    most = perTime;
    best = k;
  }
  return best;
}

/**
 * Milliseconds of a step with drafts of this length; one that has not been tried, or not for long, is hoped to take less
 * than what is known of it, so that it is tried.
 */
function timeOf(length: number, timings: readonly Timing[], index: number): number {
  const timing = timings[length]!;
  const plain = lowTime(timings[0]!);
  if (length === 0) return plain;
  if (timing.ms.length < BELIEVED) {
    const steps = timings.map((one, k) =>
      k > 0 && one.ms.length >= BELIEVED ? (lowTime(one) - plain) / k : FIRST_COST * plain,
    );
    const perToken = Math.max(0, Math.min(...steps));
    return Math.min(lowTime(timing), (plain + length * perToken) * (1 - HOPE.most));
  }
  return lowTime(timing) * (1 - HOPE.most * Math.min(1, (index - timing.at) / HOPE.after));
}

/** What else the machine does only adds to a time, so that a low one counts. */
function lowTime({ ms }: Timing): number {
  return [...ms].sort((a, b) => a - b)[Math.floor(ms.length / 4)] ?? Number.POSITIVE_INFINITY;
}
