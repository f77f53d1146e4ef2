import type { FastifyInstance } from 'fastify';
import { HttpError } from '../errors.ts';
import { hostName, isAddressOrLocalhost, isLoopback } from './loopback.ts';

/**
 * A server that listens on this machine alone answers to addresses, to `localhost`, and to the names that were allowed
 * (`*`: to any). Any other may be one that a page elsewhere has pointed at this machine (DNS rebinding): browsers would
 * let it use the server as its own. No page can have a name in `.internal`, which is for private networks; containers
 * call their host so.
 */
export function allowHosts(app: FastifyInstance, allowed: readonly string[]): void {
  if (allowed.includes('*')) return;
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  let isLocal = false;
  app.server.once('listening', () => {
    const address = app.server.address();
    isLocal = typeof address === 'object' && address !== null && isLoopback(address.address);
  });
  app.addHook('onRequest', async ({ headers: { host }, routeOptions }) => {
    // No browser leaves it out.
    if (!isLocal || !host || routeOptions.config?.isPublic || isAddressOrLocalhost(host)) return;
    const name = hostName(host);
    if (name !== undefined && (names.has(name) || name.endsWith('.internal'))) return;
    throw new HttpError(
      403,
      'host_not_allowed',
      `Without an API key, a server that listens on this machine alone answers to localhost and to addresses, not to "${host}"; ` +
        `start it with --allowed-host ${name ?? 'NAME'} if that is a name of its own, or with --api-key.`,
    );
  });
}
