import { EMPTY, map, NEVER, type Observable, of, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualEngine, word } from '../../test/support/virtual-engine.ts';
import type { Draft, DraftRequest, SequenceId } from '../core/contracts/index.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { draft } from '../operators/draft.ts';
import { schedule } from '../operators/schedule.ts';
import { verify } from '../operators/verify.ts';
import { pipeSlots } from './swap.ts';

type Answer = Observable<ReadonlyMap<SequenceId, Draft>>;

/** An engine over a proposer that answers like this. `told` are the errors that it was told of. */
async function start(propose: (requests: readonly DraftRequest[]) => Answer, retain = () => {}) {
  const told: unknown[] = [];
  const options = { k: 3, adapt: false, onError: (error: unknown) => told.push(error) };
  const engine = await virtualEngine(
    {},
    {
      schedule: schedule(continuousBatching()),
      kv: pagedBlocks({ blocks: 30, blockSize: 4 }),
      decode: pipeSlots(
        draft(() => ({ propose, retain }), options),
        verify(),
      ),
    },
    { maxNumSeqs: 2 },
  );
  return { ...engine, told };
}

describe('a proposer that fails', () => {
  it.each<[string, () => Answer]>([
    ['errors', () => throwError(() => 'broken')],
    [
      'throws',
      () => {
        throw 'broken';
      },
    ],
  ])('costs its drafts and no request where it %s', async (_, propose) => {
    const { engine, scheduler, told } = await start(propose);
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['ab', 'mn']) {
        engine.stream({ prompt, params: { maxTokens: 3 } }).subscribe((event) => seen.push(word(event)));
      }
    });
    expect(seen.filter((text) => text.startsWith('length'))).toEqual(['length:cde', 'length:opq']);
    expect(told.length).toBeGreaterThan(0);
    expect(new Set(told)).toEqual(new Set(['broken']));
  });

  it('costs no request where it throws when it is told who is there', async () => {
    const { engine, scheduler, told } = await start(
      () => of(new Map()),
      () => {
        throw 'broken';
      },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      engine.stream({ prompt: 'ab', params: { maxTokens: 3 } }).subscribe((event) => seen.push(word(event)));
    });
    expect(seen.at(-1)).toBe('length:cde');
    expect(told[0]).toBe('broken');
  });

  it('ends its step with an error that says why where it completes without an answer', async () => {
    const { engine, scheduler } = await start(() => EMPTY);
    const seen: unknown[] = [];
    scheduler.run(() => {
      engine.stream({ prompt: 'ab' }).subscribe({ error: (error: unknown) => seen.push(error) });
    });
    expect(seen).toEqual([
      expect.objectContaining({ code: 'RXLLM_RECIPE_INVALID', message: expect.stringContaining('The proposer') }),
    ]);
  });
});

describe('a proposer that does not answer', () => {
  it('keeps no request from its deadline', async () => {
    const { engine, scheduler } = await start(() => NEVER);
    const seen: [number, string][] = [];
    scheduler.run(() => {
      engine.stream({ prompt: 'ab', deadlineMs: 30 }).subscribe((event) => seen.push([scheduler.now(), word(event)]));
    });
    // It was asked in frame 2, and given up a second later.
    expect(seen.at(-1)).toEqual([1002, 'abort:cd']);
  });

  it('lets go of a request that is cancelled, and the others go on', async () => {
    let answers = false;
    const { engine, scheduler, runner } = await start(() => (answers ? of(new Map()) : NEVER));
    const seen: [number, string][] = [];
    let used = -1;
    engine.stats$.subscribe(({ blocksUsed }) => (used = blocksUsed));
    scheduler.run(() => {
      const cancelled = engine.stream({ prompt: 'ab' }).subscribe();
      engine
        .stream({ prompt: 'mn', params: { maxTokens: 4 } })
        .subscribe((event) => seen.push([scheduler.now(), word(event)]));
      timer(1500, scheduler).subscribe(() => {
        answers = true;
        expect(runner.calls).toHaveLength(1);
        cancelled.unsubscribe();
      });
    });
    expect(seen.at(-1)).toEqual([2004, 'length:opqr']);
    expect(used).toBe(0);
  });

  it('is waited for while everybody wants its answer', async () => {
    const answer = new Map<SequenceId, Draft>();
    const { engine, scheduler } = await start(() => timer(2500, scheduler).pipe(map(() => answer)));
    const seen: [number, string][] = [];
    scheduler.run(() => {
      engine
        .stream({ prompt: 'ab', params: { maxTokens: 3 } })
        .subscribe((event) => seen.push([scheduler.now(), word(event)]));
    });
    expect(seen.at(-1)).toEqual([2503, 'length:cde']);
  });
});
