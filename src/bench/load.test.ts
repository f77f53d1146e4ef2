import { map, mergeMap, timer, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import type { BenchClient, ClientEvent } from './client.ts';
import { engineClient } from './engine-client.ts';
import { arrivals, load } from './load.ts';
import type { RequestRecord } from './record.ts';
import type { TimedRequest } from './workload.ts';

const timed = (prompt: string, arrivalMs: number, maxTokens = 1): TimedRequest => ({
  prompt,
  params: { maxTokens, temperature: 0, ignoreEos: true },
  arrivalMs,
});

it('lets requests arrive at their times, those of one time together', () => {
  const scheduler = testScheduler();
  scheduler.run(({ expectObservable }) => {
    const [a, b, c, d] = [timed('a', 0), timed('b', 0), timed('c', 5), timed('d', 10)];
    expectObservable(arrivals([a!, b!, c!, d!], scheduler)).toBe('(ab)-c 4ms (d|)', { a, b, c, d });
  });
});

describe('load', () => {
  /** Replies after as many milliseconds as its prompt is long. */
  function slowEcho(scheduler: ReturnType<typeof testScheduler>): BenchClient {
    const finished = { inputTokens: 1, outputTokens: 1, finishReason: 'length' } as const;
    return {
      clock: scheduler,
      send: ({ prompt }) =>
        timer(prompt.length, scheduler).pipe(
          map(() => scheduler.now()),
          mergeMap((at): ClientEvent[] => [
            { type: 'piece', at },
            { type: 'finished', at, ...finished },
          ]),
        ),
    };
  }

  const times = (requests: readonly TimedRequest[], maxConcurrency?: number) => {
    const scheduler = testScheduler();
    let seen: string[] = [];
    scheduler.run(() => {
      load(slowEcho(scheduler), requests, { scheduler, ...(maxConcurrency && { maxConcurrency }) })
        .pipe(toArray())
        .subscribe((records) => {
          seen = records.map(({ sentAt, endedAt, ttftMs }) => `${sentAt}-${endedAt} ${ttftMs}`);
        });
    });
    return seen;
  };
  const requests = [timed('a'.repeat(10), 0), timed('a'.repeat(20), 2), timed('a'.repeat(5), 4)];

  it('is open: a request does not wait for those before it', () => {
    expect(times(requests)).toEqual(['4-9 5', '0-10 10', '2-22 20']);
  });

  it('holds back at the client what is more than maxConcurrency', () => {
    expect(times(requests, 2)).toEqual(['0-10 10', '10-15 5', '2-22 20']);
    expect(times(requests, 1)).toEqual(['0-10 10', '10-30 20', '30-35 5']);
  });

  it('loads an engine in this process, and records what it refuses', async () => {
    const scheduler = testScheduler();
    const { engine } = await scriptedEngine({ delayMs: 4 }, { ...virtualOptions(scheduler), maxQueue: 1 });
    let seen: readonly RequestRecord[] = [];
    scheduler.run(() => {
      load(engineClient(engine), [timed('abc', 0, 2), timed('abc', 2, 2), timed('abc', 3, 2)], { scheduler })
        .pipe(toArray())
        .subscribe((records) => {
          seen = records;
        });
    });
    expect(seen.map(({ outcome, sentAt, ttftMs, tpotMs, e2eMs }) => [outcome, sentAt, ttftMs, tpotMs, e2eMs])).toEqual([
      ['failed', 3, 0, 0, 0],
      ['completed', 0, 5, 5, 10],
      ['completed', 2, 13, 5, 18],
    ]);
    expect(seen[0]!.error).toContain('The queue is full');
  });
});
