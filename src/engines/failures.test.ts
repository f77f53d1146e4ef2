import { BehaviorSubject, map, type Observable, tap, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { at, virtualEngine, words } from '../../test/support/virtual-engine.ts';
import type { StagedRecipe, TokenEvent } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { isReady, nextRow, type Policy } from '../core/scheduling/policy.ts';
import { staticBatching } from '../core/scheduling/static-batching.ts';
import { schedule } from '../operators/schedule.ts';

/** What its reader hears: the words of its events, and of an error the code, if it has one. */
function listen(events: Observable<TokenEvent>, seen: { push(text: string): void }): void {
  words(events).subscribe({
    next: (text) => seen.push(text),
    error: (error: Error & { code?: string }) => seen.push(error.code ?? error.message),
  });
}

describe('an engine where something fails', () => {
  it('ends a request with its error when a pass fails, and serves the next', async () => {
    const { engine, scheduler } = await virtualEngine({
      fail: (call) => (call === 2 ? new Error('no memory') : undefined),
    });
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'mn']) {
        listen(engine.stream({ prompt, params: { maxTokens: 4 } }), seen);
      }
    });
    expect(seen).toEqual([
      ...['queued', 'queued', 'prefill 3/3', 'd', 'e', 'RXLLM_RUNTIME_FAILED'],
      ...['prefill 2/2', 'o', 'p', 'q', 'r', 'length:opqr'],
    ]);
  });

  it('ends only who had a row in the step that failed', async () => {
    let turn = 0;
    /** All are admitted, and one has a row. */
    const inTurn: Policy = (state) => {
      const ready = [...state.running, ...state.waiting].filter(isReady);
      const next = ready[turn++ % ready.length];
      const rows = next === undefined ? [] : [nextRow(next, state, Number.POSITIVE_INFINITY)];
      return { admitted: [...state.waiting], rows };
    };
    const { engine, scheduler } = await virtualEngine(
      { fail: (call) => (call === 2 ? new Error('no memory') : undefined) },
      { schedule: schedule(inTurn), kv: contiguousSlots() },
      { maxNumSeqs: 2 },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'mn']) {
        listen(engine.stream({ prompt, params: { maxTokens: 3 } }), seen);
      }
    });
    expect(seen).toEqual([
      ...['queued', 'queued', 'prefill 3/3', 'd', 'prefill 2/2', 'o'],
      ...['RXLLM_RUNTIME_FAILED', 'p', 'q', 'length:opq'],
    ]);
  });

  it('lets a request go on that found no room in the step that failed', async () => {
    const { engine, scheduler, plans } = await virtualEngine(
      { fail: (call) => (call === 3 ? new Error('no memory') : undefined) },
      { schedule: schedule(continuousBatching()), kv: pagedBlocks({ blockSize: 2, blocks: 5 }) },
      { maxNumSeqs: 2 },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'mn']) {
        listen(engine.stream({ prompt, params: { maxTokens: 4 } }), seen);
      }
    });
    expect(plans[2]).toBe('s0:d1 !s1');
    expect(seen.slice(-5)).toEqual(['RXLLM_RUNTIME_FAILED', 'prefill 2/2', 'q', 'r', 'length:opqr']);
    expect(seen.filter((text) => text.startsWith('RXLLM'))).toHaveLength(1);
  });

  it('ends a request that had a row in the step that failed, though its reader is behind by then', async () => {
    const faulty: StagedRecipe['meter'] = () =>
      tap(() => {
        throw new Error('faulty meter');
      });
    const { engine, scheduler } = await virtualEngine({ delayMs: 4 }, { meter: faulty });
    const demand$ = new BehaviorSubject(true);
    const seen: string[] = [];
    scheduler.run(() => {
      listen(engine.stream({ prompt: 'abc', demand$ }), seen);
      timer(3, scheduler).subscribe(() => demand$.next(false));
    });
    expect(seen).toEqual(['queued', 'faulty meter']);
  });

  it('does not tell of it who has come under the id of a request that was cancelled in the step', async () => {
    const { engine, scheduler } = await virtualEngine({
      delayMs: 4,
      fail: (call) => (call === 0 ? new Error('no memory') : undefined),
    });
    const seen: string[] = [];
    scheduler.run(() => {
      const request = engine.stream({ id: 'x', prompt: 'abc', params: { maxTokens: 1 } });
      const first = request.subscribe();
      timer(3, scheduler).subscribe(() => {
        first.unsubscribe();
        listen(request, seen);
      });
    });
    expect(seen).toEqual(['queued', 'prefill 3/3', 'd', 'length:d']);
  });

  it('survives a stage that throws, whichever it is', async () => {
    let throws = true;
    const faulty: StagedRecipe['meter'] = () =>
      tap(() => {
        if (throws) throw new Error('faulty meter');
      });
    const { engine, scheduler } = await virtualEngine({}, { meter: faulty });
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'x']) {
        listen(engine.stream({ prompt, params: { maxTokens: 1 } }), seen);
      }
      timer(10, scheduler).subscribe(() => {
        throws = false;
        listen(engine.stream({ prompt: 'mn', params: { maxTokens: 1 } }), seen);
      });
    });
    // The first had finished inside the step: it hears of that, for it is out of the batch; so had the second in the next.
    expect(seen).toEqual(['queued', 'queued', 'length:d', 'length:y', 'queued', 'prefill 2/2', 'o', 'length:o']);
  });

  it('ends what waits when no step can be planned, and sleeps', async () => {
    const broken: StagedRecipe['schedule'] = () =>
      map(() => {
        throw new Error('faulty policy');
      });
    let turns = 0;
    const { engine, scheduler } = await virtualEngine(
      {},
      {
        schedule: (context) => (tick$) =>
          tick$.pipe(
            tap(() => turns++),
            broken(context),
          ),
      },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      for (const [frame, prompt] of [
        [0, 'abc'],
        [0, 'm'],
        [50, 'x'],
      ] as const) {
        listen(at(frame, engine.stream({ prompt }), scheduler), seen);
      }
      timer(100, scheduler).subscribe(() => seen.push(`${turns} turns`));
    });
    expect(seen).toEqual(['queued', 'queued', 'faulty policy', 'faulty policy', 'queued', 'faulty policy', '4 turns']);
    await engine.close();
  });

  it('lets a request wait on that a policy keeps for a while, though a step without rows fails', async () => {
    let throws = true;
    const faulty: StagedRecipe['meter'] = () =>
      tap(() => {
        if (throws) throw new Error('faulty meter');
      });
    const { engine, scheduler, steps } = await virtualEngine(
      {},
      { meter: faulty, schedule: schedule(staticBatching({ batchSize: 2, maxWaitMs: 20 })), kv: contiguousSlots() },
    );
    const seen: [number, string][] = [];
    scheduler.run(() => {
      listen(engine.stream({ prompt: 'abc', params: { maxTokens: 1 } }), {
        push: (text: string) => seen.push([scheduler.now(), text]),
      });
      timer(10, scheduler).subscribe(() => {
        throws = false;
        expect(steps()).toBe(1);
      });
    });
    expect(seen.slice(1)).toEqual([
      [21, 'prefill 3/3'],
      [21, 'd'],
      [21, 'length:d'],
    ]);
  });

  it('takes the blocks of a reader that is behind for too long, though a step fails in between', async () => {
    let throws = false;
    const faulty: StagedRecipe['meter'] = () =>
      tap(() => {
        if (throws) throw new Error('faulty meter');
      });
    const { engine, scheduler } = await virtualEngine(
      {},
      { meter: faulty, schedule: schedule(continuousBatching()), kv: pagedBlocks({ blockSize: 2, blocks: 9 }) },
      { maxPauseMs: 50 },
    );
    const demand$ = new BehaviorSubject(true);
    const seen: string[] = [];
    scheduler.run(() => {
      listen(engine.stream({ prompt: 'abc', demand$, params: { maxTokens: 6 } }), seen);
      timer(2.5, scheduler).subscribe(() => {
        throws = true;
        demand$.next(false);
      });
      timer(10, scheduler).subscribe(() => {
        throws = false;
      });
      timer(200, scheduler).subscribe(() => demand$.next(true));
    });
    expect(seen).toEqual([
      'queued',
      'prefill 3/3',
      'd',
      'e',
      'preempted',
      'prefill 3/3',
      'f',
      'g',
      'h',
      'i',
      'length:defghi',
    ]);
  });

  it('ends only the stream of a reader that throws', async () => {
    const { engine, scheduler } = await virtualEngine();
    const seen: string[] = [];
    scheduler.run(() => {
      engine
        .stream({ prompt: 'abc', params: { maxTokens: 9 } })
        .pipe(
          tap((event) => {
            if (event.type === 'token') throw new Error('reader');
          }),
        )
        .subscribe({ error: (error: Error) => seen.push(error.message) });
      listen(engine.stream({ prompt: 'mn', params: { maxTokens: 1 } }), seen);
    });
    expect(seen).toEqual(['queued', 'reader', 'prefill 2/2', 'o', 'length:o']);
  });
});
