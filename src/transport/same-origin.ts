import type { FastifyRequest } from 'fastify';
import { HttpError } from './errors.ts';

/**
 * Refuses a WebSocket that a page of another host opens, but for those of `allowed` origins: browsers let any page
 * connect to any server, and only tell it where the page is from. Programs send no `Origin`. The hook throws HttpError 403.
 */
export const sameOriginOnly =
  (allowed: readonly string[]) =>
  async (request: FastifyRequest): Promise<void> => {
    const { origin, host = '' } = request.headers;
    if (origin === undefined || allowed.includes(origin) || isHostOf(origin, host)) return;
    throw new HttpError(
      403,
      'origin_not_allowed',
      `Without an API key, pages of other hosts (${origin}) may not connect; start the server with --api-key, or with --cors-origin, to let them.`,
    );
  };

function isHostOf(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  // Parsed alike, so that a port that the scheme implies does not matter.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === originHost;
}
