import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../errors.ts';

/**
 * Where the page is from that opens this, if of another host: browsers let any page connect to any server, and only tell it
 * where the page is from, in `Origin`, or, where they send none, in `Sec-Fetch-Site`. Programs send neither.
 */
export function foreignOrigin({
  origin,
  host = '',
  'sec-fetch-site': site = 'none',
}: IncomingHttpHeaders): string | undefined {
  if (origin !== undefined) return isHostOf(origin, host) ? undefined : origin;
  return site === 'none' || site === 'same-origin' ? undefined : String(site);
}

/** Refuses what a page of another host opens, but for those of `allowed` origins. The hook throws HttpError 403. */
export const sameOriginOnly =
  (allowed: readonly string[]) =>
  async ({ headers }: FastifyRequest): Promise<void> => {
    const origin = foreignOrigin(headers);
    if (origin === undefined || allowed.includes(origin)) return;
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
