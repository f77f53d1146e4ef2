import { concat, ignoreElements, map, mergeMap, of, throwError, timer } from 'rxjs';
import { expect, it } from 'vitest';
import { testScheduler } from '../../test/support/marbles.ts';
import type { BenchClient, ClientEvent } from './client.ts';
import { type RequestRecord, record } from './record.ts';

const request = { prompt: 'abc', params: { maxTokens: 8, temperature: 0, ignoreEos: false } };

/** Records a reply whose pieces and end arrive at the given milliseconds, sent at 10. */
function recorded(pieces: readonly number[], end: number, finished: Partial<ClientEvent> = {}): RequestRecord {
  const scheduler = testScheduler();
  let seen: RequestRecord | undefined;
  scheduler.run(() => {
    const at = (ms: number) => timer(ms, scheduler).pipe(map(() => scheduler.now()));
    const client: BenchClient = {
      clock: scheduler,
      send: () =>
        concat(
          of(...pieces).pipe(
            mergeMap(at),
            map((at): ClientEvent => ({ type: 'piece', at })),
          ),
          timer(end - (pieces.at(-1) ?? 0), scheduler).pipe(
            map(
              () =>
                ({
                  type: 'finished',
                  at: scheduler.now(),
                  inputTokens: 3,
                  outputTokens: 4,
                  finishReason: 'length',
                  ...finished,
                }) as ClientEvent,
            ),
          ),
        ),
    };
    concat(timer(10, scheduler).pipe(ignoreElements()), record(client, request)).subscribe((value) => {
      seen = value as RequestRecord;
    });
  });
  return seen!;
}

it('measures TTFT, the gaps, the time per token after the first, and the whole', () => {
  expect(recorded([20, 25, 35, 50], 60)).toEqual({
    outcome: 'completed',
    sentAt: 10,
    endedAt: 70,
    inputTokens: 3,
    outputTokens: 4,
    ttftMs: 20,
    tpotMs: 10,
    itlMs: [5, 10, 15],
    e2eMs: 60,
  });
});

it('counts tokens as the server does, not pieces', () => {
  expect(recorded([20, 40], 50, { outputTokens: 11 })).toMatchObject({ outputTokens: 11, tpotMs: 2, itlMs: [20] });
});

it('does not take one piece of several tokens for the first token', () => {
  expect(recorded([40], 40)).toMatchObject({ ttftMs: 0, tpotMs: 0, itlMs: [], e2eMs: 40 });
  expect(recorded([40], 40, { outputTokens: 1 })).toMatchObject({ ttftMs: 40, tpotMs: 0 });
});

it('counts an aborted reply as cancelled', () => {
  expect(recorded([20], 30, { finishReason: 'abort', outputTokens: 1 })).toMatchObject({ outcome: 'cancelled' });
});

it.each([
  ['an error', throwError(() => new Error('the queue is full')), 'the queue is full'],
  ['a reply cut short', of<ClientEvent>({ type: 'piece', at: 5 }), 'the reply ended without its last event'],
])('records %s as failed', (_, reply, error) => {
  const seen: RequestRecord[] = [];
  const client: BenchClient = { clock: { now: () => 5 }, send: () => reply };
  record(client, request).subscribe((value) => seen.push(value));
  expect(seen).toMatchObject([{ outcome: 'failed', error, sentAt: 5, endedAt: 5, outputTokens: 0 }]);
});

it('cancels the request when it is unsubscribed from', () => {
  testScheduler().run(({ cold, expectObservable, expectSubscriptions }) => {
    const reply = cold<ClientEvent>('--------');
    expectObservable(record({ clock: { now: () => 0 }, send: () => reply }, request), '^---!').toBe('-----');
    expectSubscriptions(reply.subscriptions).toBe('^---!');
  });
});
