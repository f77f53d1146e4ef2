import { NEVER, type Observable, type SchedulerLike } from 'rxjs';
import type { GenerateRequest } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { after } from './after.ts';

/**
 * Emits when the request's time is over; never where it has no deadline.
 * @throws RxllmError `RXLLM_INVALID_REQUEST`
 */
export function deadline({ deadlineMs }: GenerateRequest, clock: SchedulerLike): Observable<unknown> {
  if (deadlineMs === undefined) return NEVER;
  if (Number.isFinite(deadlineMs) && deadlineMs > 0) return after(deadlineMs, clock);
  throw new RxllmError(
    'RXLLM_INVALID_REQUEST',
    `deadlineMs must be a finite number above 0, not ${deadlineMs}; leave it out for no deadline.`,
    { param: 'deadlineMs' },
  );
}
