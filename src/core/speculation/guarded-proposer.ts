import { catchError, defer, filter, interval, map, merge, of, take, throwIfEmpty } from 'rxjs';
import type { Draft, EngineContext, Proposer, Sequence, SequenceId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

/** How long a step waits for its proposer although one of its sequences has to end, in milliseconds. */
const PATIENCE_MS = 1000;

const NO_DRAFTS: ReadonlyMap<SequenceId, Draft> = new Map();

/**
 * A proposer whose troubles cost drafts, not requests: where it fails there are none, and `onError` is told; where it does
 * not answer, deadlines and cancels still take effect. Errors with `RXLLM_RECIPE_INVALID` where it completes without an
 * answer, for a proposer that does so is wrong.
 *
 *     propose:          --#          ------------…
 *     guarded propose:  --(n|)       ------(n|)       (n: no drafts; a deadline has passed)
 */
export function guardedProposer(
  { propose, retain }: Proposer,
  { running, options }: Pick<EngineContext, 'running' | 'options'>,
  onError: (error: unknown) => void,
): Proposer {
  return {
    propose: (requests) => {
      const answer$ = defer(() => propose(requests)).pipe(
        catchError((error: unknown) => {
          onError(error);
          return of(NO_DRAFTS);
        }),
        throwIfEmpty(noAnswer),
      );
      const givenUp$ = interval(PATIENCE_MS, options.clock).pipe(
        filter(() => running.some(hasToEnd)),
        map(() => NO_DRAFTS),
      );
      return merge(answer$, givenUp$).pipe(take(1));
    },
    retain: (sequences) => {
      try {
        retain(sequences);
      } catch (error) {
        onError(error);
      }
    },
  };
}

const hasToEnd = ({ phase, finish }: Sequence): boolean => phase === 'cancelled' || finish !== undefined;

function noAnswer(): RxllmError {
  const message = 'The proposer completed without an answer. It must emit once: an empty map where it has no drafts.';
  return new RxllmError('RXLLM_RECIPE_INVALID', message);
}
