import { expect, it } from 'vitest';
import { virtualOptions } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { engineClient } from './engine-client.ts';
import { type RequestRecord, record } from './record.ts';

it('times an engine in this process', async () => {
  const scheduler = testScheduler();
  const { engine } = await scriptedEngine({ delayMs: 4 }, virtualOptions(scheduler));
  const seen: RequestRecord[] = [];
  scheduler.run(() => {
    const params = { maxTokens: 3, temperature: 0, ignoreEos: true };
    record(engineClient(engine), { prompt: 'abc', params }).subscribe((value) => seen.push(value));
  });
  // A step is 1 ms between steps and 4 ms of computing.
  expect(seen).toEqual([
    {
      outcome: 'completed',
      sentAt: 0,
      endedAt: 15,
      inputTokens: 3,
      outputTokens: 3,
      ttftMs: 5,
      tpotMs: 5,
      itlMs: [5, 5],
      e2eMs: 15,
    },
  ]);
});
