import { afterAll, expect, it } from 'vitest';
import { prefixCaching } from '../src/engines/prefix-caching.ts';
import { JSON_SCHEMAS } from './support/json-schemas.ts';
import { serveEmbedded } from './support/real-server.ts';
import { askForEach } from './support/structured-output.ts';

const server = await serveEmbedded({}, prefixCaching);
afterAll(() => server.close());

it('fifty schemas at temperature 1: what ends by itself fits, and at least 48 do', async () => {
  expect(JSON_SCHEMAS).toHaveLength(50);
  const outcomes = await askForEach(server, JSON_SCHEMAS);
  const unfinished = outcomes.filter(({ reason }) => reason !== 'stop');
  expect(unfinished.length, JSON.stringify(unfinished)).toBeLessThanOrEqual(2);
});
