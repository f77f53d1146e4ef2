import { afterAll, expect, it } from 'vitest';
import { prefixCaching } from '../src/engines/prefix-caching.ts';
import { JSON_SCHEMAS } from './support/json-schemas.ts';
import { serveEmbedded } from './support/real-server.ts';
import { askForEach } from './support/structured-output.ts';

const server = await serveEmbedded({}, prefixCaching);
afterAll(() => server.close());

it('a reply to each fourth schema, at temperature 1, ends by itself and fits', async () => {
  const some = JSON_SCHEMAS.filter((_, index) => index % 4 === 2);
  const outcomes = await askForEach(server, some);
  expect(outcomes.filter(({ reason }) => reason !== 'stop')).toEqual([]);
});
