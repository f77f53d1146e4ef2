import { pino } from 'pino';
import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import { eventually } from '../../test/support/waiting.ts';
import { createInstruments } from './metrics/instruments.ts';
import { buildServer } from './server.ts';
import { statusLine, statusReports } from './status-line.ts';

it('tells what was done since the line before, and nothing where nothing was', async () => {
  const instruments = createInstruments();
  const [one, two] = ['one', 'two'].map((engine) => ({ model_name: 'm', engine }));
  const report = statusReports(instruments, 0);
  expect(await report(1000)).toBeUndefined();
  instruments.running.set(one!, 3);
  instruments.waiting.set(one!, 4);
  instruments.kvUsage.set(one!, 0.25);
  instruments.kvUsage.set(two!, 0);
  instruments.promptTokens.inc(one!, 60);
  for (const labels of [one!, two!]) instruments.generationTokens.inc(labels, 100);
  instruments.prefixQueries.inc(one!, 40);
  instruments.prefixHits.inc(one!, 10);
  const status = (await report(3000))!;
  expect(status).toEqual({
    running: 3,
    waiting: 4,
    kvCacheUsage: 0.25,
    promptTokensPerS: 30,
    generationTokensPerS: 100,
    prefixCacheHitRate: 0.25,
  });
  expect(statusLine(status)).toBe(
    'running 3, waiting 4, KV cache 25.0%, prompt 30.0 tokens/s, generation 100.0 tokens/s, prefix cache hits 25.0%',
  );
  expect(await report(4000)).toEqual({
    running: 3,
    waiting: 4,
    kvCacheUsage: 0.25,
    promptTokensPerS: 0,
    generationTokensPerS: 0,
  });
  instruments.running.set(one!, 0);
  instruments.waiting.set(one!, 0);
  expect(await report(5000)).toBeUndefined();
});

it('is logged while there is work', async () => {
  const lines: { msg: string }[] = [];
  const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const engine = fakeEngine(() => say(['a', 'b']));
  const app = buildServer({ engine: () => engine }, { logger, statusMs: 5 });
  await app.ready();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(lines).toEqual([]);
  await app.inject({ method: 'POST', url: '/v1/completions', payload: { prompt: 'hi' } });
  await eventually(() => expect(lines).toHaveLength(1));
  expect(lines[0]).toMatchObject({ running: 0, waiting: 0, generationTokensPerS: expect.any(Number) });
  expect(lines[0]!.msg).toMatch(/^running 0, waiting 0, KV cache 0\.0%, prompt [\d.]+ tokens\/s, generation [1-9]/);
  await app.close();
});
