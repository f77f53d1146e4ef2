import type { GenerateRequest, SequenceId } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import type { CompletionRequest } from './schemas.ts';

/**
 * The request `n` times, all but the first forked from it, so that they share its prompt. A seed counts up, so that the
 * choices differ and can be had again one by one.
 */
export function repeatRequest(
  request: GenerateRequest,
  n: number,
  newId: () => SequenceId,
): readonly GenerateRequest[] {
  if (n === 1) return [request];
  const id = newId();
  const seed = request.params?.seed;
  return Array.from({ length: n }, (_, index) => ({
    ...request,
    ...(index === 0 ? { id } : { forkOf: id }),
    ...(seed !== undefined && { params: { ...request.params, seed: wrapped(seed, index) } }),
  }));
}

/** `seed + by`; behind the largest safe integer comes the smallest. */
function wrapped(seed: number, by: number): number {
  const left = Number.MAX_SAFE_INTEGER - seed;
  return by <= left ? seed + by : Number.MIN_SAFE_INTEGER + (by - left - 1);
}

/** @throws RxllmError `RXLLM_INVALID_REQUEST` when stream_options stands without stream */
export function streamOptions({
  stream = false,
  stream_options: options,
}: Pick<CompletionRequest, 'stream' | 'stream_options'>): { readonly stream: boolean; readonly includeUsage: boolean } {
  if (options !== undefined && !stream) {
    throw new RxllmError('RXLLM_INVALID_REQUEST', 'stream_options: set "stream": true with it.', {
      param: 'stream_options',
    });
  }
  return { stream, includeUsage: options?.include_usage ?? false };
}
