import { concatMap, map, of } from 'rxjs';
import type { Computed, Draft, ProposerSlot, Sequence, SequenceId, Slot, TokenId } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { acceptedOf } from '../core/speculation/draft-counts.ts';
import { DraftLengths, type DraftStep } from '../core/speculation/draft-length.ts';
import { guardedProposer } from '../core/speculation/guarded-proposer.ts';
import { completes } from './forward-rows.ts';
import { contextLimit } from './tokenize.ts';

export interface DraftOptions {
  /** The longest draft, in tokens. Default 4. */
  readonly k?: number;
  /** Drafts get shorter, or none are made, where that gives more tokens per second so far. Default true. */
  readonly adapt?: boolean;
  /** Told of each error of the proposer. By default the first one is a line on stderr. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Asks the proposer for the next tokens of each decoding sequence, at most k, which `verify` then checks. Never more than
 * the sequence can still use, and none for a sequence that follows a grammar. Where the proposer fails, the step goes on
 * without drafts.
 *
 *     computed:           --c-------------
 *     draft(proposer):    ----computed----   (when the proposer has answered)
 */
export const draft =
  (proposer: ProposerSlot, { k = 4, adapt = true, onError }: DraftOptions = {}): Slot<Computed, Computed> =>
  (context) => {
    if (!Number.isInteger(k) || k < 1) {
      throw new RxllmError('RXLLM_OPTION_INVALID', `k: ${k} is not a whole number of at least 1.`, { param: 'k' });
    }
    const { propose, retain } = guardedProposer(proposer(context), context, onError ?? warnOnce());
    const lengths = new DraftLengths(k);
    const limit = contextLimit(context);
    const { vocab } = context.model.config;
    /** The drafts of the step before, and at which index of the sequence's tokens they begin. */
    let before: readonly (readonly [Sequence, from: number, readonly TokenId[]])[] = [];
    const learn = () => {
      for (const [sequence, from, drafted] of before) {
        // A text that has ended was cut, which says nothing about what was drafted behind its end; and a draft behind which
        // no token has come was never verified, as after a cancel.
        if (sequence.phase === 'finished' || sequence.tokens.length === from) continue;
        const accepted = acceptedOf(drafted, sequence.tokens.slice(from));
        lengths.recordAccepted(sequence, Math.min(drafted.length, accepted + 1), accepted);
      }
      before = [];
    };
    /** How many drafted tokens the sequence can use at most: the target adds one of its own. */
    const usable = ({ params, tokens, promptLength }: Sequence) =>
      Math.min(promptLength + params.maxTokens, limit) - tokens.length - 1;

    return concatMap((step) => {
      retain(new Set(context.running.filter((sequence) => !step.preempted.includes(sequence))));
      learn();
      // After a preemption, a sequence may find less in the cache than was planned with: it is not ready for a draft.
      const decoding = step.rows
        .filter((row) => row.kind === 'decode' && completes(row) && row.sequence.grammar === undefined)
        .map(({ sequence }) => sequence);
      if (decoding.length === 0) return of(step);

      const drafting: DraftStep = {
        index: step.index,
        now: step.now,
        hasPrefill: decoding.length < step.rows.length,
        decoding,
      };
      const planned = adapt ? lengths.plan(drafting) : decoding.map(() => k);
      const requests = decoding
        .map((sequence, i) => ({ sequence, count: Math.min(planned[i]!, usable(sequence)) }))
        .filter(({ count }) => count > 0);
      const finish = (proposed: ReadonlyMap<SequenceId, Draft>): Computed => {
        const drafts = new Map<SequenceId, Draft>();
        for (const { sequence, count } of requests) {
          const found = proposed.get(sequence.id);
          const tokens = found?.tokens.slice(0, count) ?? [];
          // What is no token would fail the pass of all rows.
          const stray = tokens.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocab);
          if (stray >= 0) tokens.length = stray;
          if (tokens.length > 0) drafts.set(sequence.id, { ...found, tokens });
        }
        const tokensOf = ({ id }: Sequence) => drafts.get(id)?.tokens ?? [];
        before = decoding.filter(({ id }) => drafts.has(id)).map((one) => [one, one.tokens.length, tokensOf(one)]);
        lengths.recordDrafted(
          drafting,
          decoding.map((sequence) => tokensOf(sequence).length),
        );
        return { ...step, drafts };
      };
      return requests.length === 0 ? of(finish(new Map())) : propose(requests).pipe(map(finish));
    });
  };

/** An engine that only got slower would tell nobody why. */
function warnOnce(): (error: unknown) => void {
  let isTold = false;
  return (error) => {
    if (isTold) return;
    isTold = true;
    process.stderr.write(`rxllm: a proposer failed, and its step goes on without drafts: ${String(error)}\n`);
  };
}
