import type { FastifyRequest } from 'fastify';
import { isAddressOrLocalhost, isLoopback } from '../access/loopback.ts';
import { HttpError } from '../errors.ts';
import { foreignOrigin } from './same-origin.ts';

/**
 * With a key the whole server asks for it; without one, `/admin` answers this machine alone, and of its browsers' pages
 * the server's own. Pages that `--cors-origin` lets call the API may use the model; what serves is not theirs to change.
 */
export function adminOnly(hasApiKey: boolean): (request: FastifyRequest) => Promise<void> {
  return async ({ ip, headers }) => {
    if (hasApiKey) return;
    if (!isLoopback(ip)) throw refused('admin_not_allowed', 'this machine alone');
    if (!isAddressOrLocalhost(headers.host)) {
      throw refused('host_not_allowed', `to an address such as 127.0.0.1 or to localhost, not to "${headers.host}"`);
    }
    const origin = foreignOrigin(headers);
    if (origin !== undefined) throw refused('origin_not_allowed', `no pages of other hosts (${origin})`);
  };
}

function refused(code: string, whom: string): HttpError {
  const message = `Without an API key, /admin answers ${whom}; start the server with --api-key to use it from elsewhere.`;
  return new HttpError(403, code, message);
}
