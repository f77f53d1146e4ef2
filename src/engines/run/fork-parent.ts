import type { EngineContext, Sequence } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';

/**
 * The sequence whose prompt this one shares, of those under way; undefined where it shares none: its parent has ended, or
 * blocks cannot be shared.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` where the parent has another prompt or another cacheSalt
 */
export function forkParent(
  { request: { forkOf, cacheSalt }, tokens }: Sequence,
  find: (id: string) => Sequence | undefined,
  { pool }: EngineContext['kv'],
): Sequence | undefined {
  const parent = forkOf === undefined ? undefined : find(forkOf);
  if (parent === undefined || pool.layout !== 'paged') return undefined;
  const isSame =
    cacheSalt === parent.request.cacheSalt &&
    tokens.length === parent.promptLength &&
    tokens.every((id, i) => id === parent.tokens[i]);
  if (isSame) return parent;
  const message = `forkOf: the request "${forkOf}" has another prompt or another cacheSalt.`;
  throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param: 'forkOf' });
}
