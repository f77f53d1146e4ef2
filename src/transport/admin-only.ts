import type { FastifyRequest } from 'fastify';
import { HttpError } from './errors.ts';
import { isLoopback } from './loopback.ts';

/** With a key the whole server asks for it; without one, `/admin` answers this machine alone. */
export function adminOnly(hasApiKey: boolean): (request: FastifyRequest) => Promise<void> {
  return async ({ ip }) => {
    if (hasApiKey || isLoopback(ip)) return;
    throw new HttpError(
      403,
      'admin_not_allowed',
      'Without an API key, /admin answers this machine alone; start the server with --api-key to use it from elsewhere.',
    );
  };
}
