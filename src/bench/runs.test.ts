import { of, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { virtualOptions } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import type { BenchClient, ClientEvent } from './client.ts';
import { runOffline } from './offline.ts';
import { runOnline } from './online.ts';

const request = { prompt: 'abc', params: { maxTokens: 40, temperature: 0, ignoreEos: false } };

it('offline: counts the tokens that came, not those asked for', async () => {
  const scheduler = testScheduler();
  const next = (history: readonly number[]) => (history.length < 6 ? 5 : 0);
  const { engine } = await scriptedEngine({ delayMs: 4, next }, virtualOptions(scheduler));
  const running = scheduler.run(() => runOffline(engine, request));
  // The fourth token ends the text.
  expect(await running).toMatchObject({ outputTokens: 4, ttftMs: 5, tpotMs: 5 });
});

it('online: takes the times of the client and the counts of the server', async () => {
  let now = 100;
  const finished = { inputTokens: 3, outputTokens: 3, finishReason: 'length' } as const;
  const events: ClientEvent[] = [
    { type: 'piece', at: 110 },
    { type: 'piece', at: 150 },
    { type: 'finished', at: 160, ...finished },
  ];
  const client: BenchClient = { clock: { now: () => now++ }, send: () => of(...events) };
  expect(await runOnline(client, request)).toEqual({ wallMs: 60, outputTokens: 3, ttftMs: 10, tpotMs: 20 });
});

it('online: a refused request is an error, not a run of no tokens', async () => {
  const client: BenchClient = { clock: { now: () => 0 }, send: () => throwError(() => new Error('HTTP 500: no')) };
  await expect(runOnline(client, request)).rejects.toThrow('HTTP 500: no');
});
