import type { GenerateRequest } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import type { CompletionRequest } from './schemas.ts';

/** The request `n` times; a seed counts up, so that the choices differ and can be had again one by one. */
export function repeatRequest(request: GenerateRequest, n: number): readonly GenerateRequest[] {
  const seed = request.params?.seed;
  return Array.from({ length: n }, (_, index) =>
    seed === undefined ? request : { ...request, params: { ...request.params, seed: seed + index } },
  );
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
