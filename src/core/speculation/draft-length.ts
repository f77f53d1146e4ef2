import type { Sequence } from '../contracts/index.ts';
import { bestLength } from './best-length.ts';
import { StepTimes } from './step-times.ts';

/** Each round multiplies what the rounds before it count by this. */
const DECAY = 0.9;
/** A sequence's acceptance begins as the engine's, which counts as much as so many tokens of its own. */
const PRIOR = 2;
/** Where drafting does not pay, so many tokens are drafted now and then, to see whether it pays again: a probe. */
const PROBE_TOKENS = 2;
/** Rounds that a probe lasts, as long as each has a token accepted. */
const PROBE_ROUNDS = 3;
/**
 * Steps from one probe to the next. They double from `least` to `most` while probes fail; a new sequence begins with those
 * of the sequence before it, at most `inherited`.
 */
const PROBE_EVERY = { least: 32, inherited: 128, most: 256 };

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

interface DraftState extends Acceptance {
  probeEvery: number;
  /** The index of the step in which it was drafted for last. */
  draftedAt: number;
  /** Whether any token of that draft was accepted. */
  hadAccepted: boolean;
}

interface LastStep {
  readonly step: DraftStep;
  /** The longest draft. */
  readonly k: number;
  readonly isMeasurable: boolean;
}

/**
 * How many tokens to draft for each row: the {@link bestLength} for the acceptance rate that its drafts have had, and for
 * the times that steps have taken; 0 where drafting does not pay.
 */
export class DraftLengths {
  readonly #longest: number;
  readonly #ofEngine: Acceptance = { tested: 4, accepted: 3 };
  readonly #times: StepTimes;
  readonly #states = new WeakMap<Sequence, DraftState>();
  /** What a new sequence begins with, for texts that follow each other are often of one kind. */
  #probeEvery = PROBE_EVERY.least;
  #last: LastStep | undefined;

  constructor(longest: number) {
    this.#longest = longest;
    this.#times = new StepTimes(longest);
  }

  /** Tokens to draft for each of `step.decoding`. */
  plan(step: DraftStep): number[] {
    this.#measureLast(step);
    const rows = step.decoding.length;
    if (this.#times.needsPlain(rows, step.index)) return step.decoding.map(() => 0);
    const times = this.#times.estimates(rows, step.index);
    return step.decoding.map((sequence) => this.#length(sequence, times, step.index));
  }

  /** What was drafted in this step, a length for each of `step.decoding`. */
  recordDrafted(step: DraftStep, lengths: readonly number[]): void {
    let isMeasurable = !step.hasPrefill;
    for (const [i, sequence] of step.decoding.entries()) {
      if (lengths[i] === 0) continue;
      const state = this.#stateOf(sequence);
      // A proposer that was not asked in the step before has tokens to catch up with.
      if (state.draftedAt !== step.index - 1) isMeasurable = false;
      state.draftedAt = step.index;
    }
    this.#last = { step, k: Math.max(0, ...lengths), isMeasurable };
  }

  /** How many drafted tokens were tested, the first rejected one included, and how many of them were accepted. */
  recordAccepted(sequence: Sequence, tested: number, accepted: number): void {
    const state = this.#stateOf(sequence);
    state.hadAccepted = accepted > 0;
    for (const one of [state, this.#ofEngine]) {
      one.tested = one.tested * DECAY + tested;
      one.accepted = one.accepted * DECAY + accepted;
    }
  }

  #length(sequence: Sequence, times: readonly number[], index: number): number {
    const state = this.#stateOf(sequence);
    const prior = (PRIOR * this.#ofEngine.accepted) / this.#ofEngine.tested;
    const acceptance = (state.accepted + prior) / (state.tested + PRIOR);
    const best = bestLength(acceptance, (k) => times[k]!, this.#longest);
    if (best > 0) {
      state.probeEvery = PROBE_EVERY.least;
      this.#probeEvery = PROBE_EVERY.least;
      return best;
    }
    // All rows probe in the same steps, so that the others stay plain.
    const round = index % state.probeEvery;
    if (round === 0 || (round < PROBE_ROUNDS && state.hadAccepted)) return Math.min(PROBE_TOKENS, this.#longest);
    if (round === PROBE_ROUNDS) {
      state.probeEvery = Math.min(PROBE_EVERY.most, state.probeEvery * 2);
      this.#probeEvery = Math.min(PROBE_EVERY.inherited, state.probeEvery);
    }
    return 0;
  }

  /** A step's time is known when the next one begins, if nothing lay between them. */
  #measureLast(step: DraftStep): void {
    const last = this.#last;
    this.#last = undefined;
    if (last === undefined || !last.isMeasurable || step.index !== last.step.index + 1) return;
    // A clock may stand still, as in a replay.
    const ms = Math.max(step.now - last.step.now, 1e-3);
    this.#times.record(last.step.decoding.length, last.k, ms, last.step.index);
  }

  #stateOf(sequence: Sequence): DraftState {
    let state = this.#states.get(sequence);
    if (state === undefined) {
      state = {
        tested: 0,
        accepted: 0,
        probeEvery: this.#probeEvery,
        draftedAt: Number.NEGATIVE_INFINITY,
        hadAccepted: false,
      };
      this.#states.set(sequence, state);
    }
    return state;
  }
}
