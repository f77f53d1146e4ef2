import { expect, it } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { createPaged } from '../../../test/support/kv-caches.ts';
import type { Sequence } from '../contracts/index.ts';
import { pause, resume } from './pause.ts';
import { withdraw } from './withdraw.ts';

function places() {
  const kv = createPaged(8);
  const [queued, runs] = [fakeSequence('queued'), fakeSequence('runs')];
  for (const sequence of [queued, runs]) kv.reserve(sequence, 1);
  const context: { waiting: Sequence[]; running: Sequence[]; kv: typeof kv } = {
    waiting: [queued],
    running: [runs],
    kv,
  };
  return { context, queued, runs };
}

it.each([
  ['cancel', 'cancelled', undefined],
  ['abort', 'finished', 'abort'],
] as const)('%s: out of the queue at once, and its blocks are back', (how, phase, finish) => {
  const { context, queued } = places();
  expect(withdraw(queued, how, context)).toBe(true);
  expect(queued).toMatchObject({ phase, blocks: [] });
  expect(queued.finish).toBe(finish);
  expect(context).toMatchObject({ waiting: [], kv: { used: 1 } });
});

it('out of the batch with the next sweep: it keeps its blocks till then', () => {
  const { context, runs } = places();
  const { phase } = runs;
  expect(withdraw(runs, 'abort', context)).toBe(false);
  expect(runs).toMatchObject({ phase, finish: 'abort' });
  expect(withdraw(runs, 'cancel', context)).toBe(false);
  expect(runs.phase).toBe('cancelled');
  expect(context).toMatchObject({ running: [runs], kv: { used: 2 } });
});

it('an abort leaves the finish that a sequence has', () => {
  const { context, runs } = places();
  runs.finish = 'stop';
  withdraw(runs, 'abort', context);
  expect(runs.finish).toBe('stop');
});

it('a pause is counted from its beginning, and ends where the sequence stands', () => {
  const { context, queued, runs } = places();
  pause(runs, 5);
  pause(runs, 9);
  expect(runs).toMatchObject({ phase: 'paused', pausedAt: 5 });
  pause(queued, 7);
  for (const sequence of [queued, runs]) resume(sequence, context);
  expect([queued.phase, runs.phase]).toEqual(['waiting', 'running']);
  expect(runs.pausedAt).toBeUndefined();
});
