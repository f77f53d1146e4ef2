import { timer } from 'rxjs';
import { expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../../test/support/context.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import { anyToken, slowed } from '../../../test/support/slow-matcher.ts';
import type { EngineContext, Sequence } from '../contracts/index.ts';
import { masksReady } from './masks-ready.ts';

/** Milliseconds after which a step of these delays' rows can be sampled; `meanwhile` happens after 12. */
function waits(delays: readonly number[], meanwhile: (context: EngineContext, rows: Sequence[]) => void = () => {}) {
  const scheduler = testScheduler();
  const context = operatorContext(scheduler);
  let waited: number | undefined;
  scheduler.run(() => {
    const sequences = delays.map((delayMs) => ({
      ...runningSequence(context),
      grammar: delayMs === 0 ? anyToken() : slowed(anyToken(), delayMs, scheduler),
    }));
    context.running.splice(0, delays.length, ...sequences);
    const step = emptyStep({
      rows: sequences.map(decodeRow),
      logits: new Map(sequences.map(({ id }) => [id, new Float32Array(32)])),
    });
    timer(12, scheduler).subscribe(() => meanwhile(context, sequences));
    masksReady(step, context).subscribe(() => {
      waited = scheduler.now();
    });
  });
  return waited;
}

it('does not wait for masks that are there', () => {
  expect(waits([0, 0])).toBe(0);
});

it('waits for those that come soon', () => {
  expect(waits([4, 7, 0])).toBe(7);
});

it('waits for a neighbour no longer than a short patience', () => {
  expect(waits([50, 0])).toBe(10);
});

it('has time while nobody else is held up', () => {
  expect(waits([47])).toBe(47);
  expect(waits([47, 48])).toBe(48);
  // Once the first is there, it is held up by the second.
  expect(waits([44, 88])).toBe(50);
});

it('is patient no more once someone arrives', () => {
  const arrive = ({ waiting }: EngineContext, [row]: Sequence[]) => waiting.push({ ...row!, id: 'other' });
  expect(waits([50], arrive)).toBe(20);
});

it('lets a row go that ends meanwhile', () => {
  const abort = (_: EngineContext, [row]: Sequence[]) => {
    row!.finish = 'abort';
  };
  expect(waits([50], abort)).toBe(20);
});
