import { BehaviorSubject, concatMap, map, type Observable, of, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { at, virtualEngine, word, words } from '../../test/support/virtual-engine.ts';
import type { EngineOptions, GenerateRequest, KvSlot, TokenEvent } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { type ContinuousBatchingOptions, continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { staticBatching } from '../core/scheduling/static-batching.ts';
import { allocateBlocks } from '../operators/allocate-blocks.ts';
import { schedule } from '../operators/schedule.ts';
import { tokenize } from '../operators/tokenize.ts';

/** That many blocks of 4 tokens, the trash block not counted. */
const blocks = (count: number) => pagedBlocks({ blockSize: 4, blocks: count + 1 });

const continuous = (
  given: ContinuousBatchingOptions = {},
  kv: KvSlot = contiguousSlots(),
  options: Partial<EngineOptions> = {},
) =>
  virtualEngine(
    {},
    {
      schedule: schedule(continuousBatching(given)),
      allocate: allocateBlocks(given.policy ? { policy: given.policy } : {}),
      kv,
    },
    options,
  );

type Virtual = Awaited<ReturnType<typeof continuous>>;

/** Runs requests, each from its frame on; gives each one's words. */
function run(
  { engine, scheduler }: Virtual,
  requests: readonly (GenerateRequest & { readonly from?: number })[],
): string[] {
  const seen = requests.map(() => '');
  scheduler.run(() => {
    requests.forEach(({ from = 0, ...request }, i) => {
      at(from, words(engine.stream(request)), scheduler).subscribe({
        next: (text) => {
          seen[i] += text.startsWith('prefill') || text === 'queued' ? '' : `${text.length > 1 ? ' ' : ''}${text}`;
        },
        error: (error: { code: string }) => {
          seen[i] = error.code;
        },
      });
    });
  });
  return seen;
}

describe('static batching', () => {
  it('keeps who comes late waiting until the last of the batch ends', async () => {
    const batch = await virtualEngine(
      {},
      { schedule: schedule(staticBatching({ batchSize: 2, maxWaitMs: 3 })), kv: contiguousSlots() },
    );
    const texts = run(batch, [
      { prompt: 'abc', params: { maxTokens: 2 } },
      { prompt: 'm', params: { maxTokens: 4 } },
      { prompt: 'x', params: { maxTokens: 1 }, from: 2 },
    ]);
    expect(texts).toEqual(['de length:de', 'nopq length:nopq', 'y length:y']);
    // A lone request waits for company; in the middle, half of each step is not used.
    expect(batch.plans).toEqual(['s0:p3 s1:p1', 's0:d1 s1:d1', 's1:d1', 's1:d1', 's2:p1', '']);
  });

  it('starts an incomplete batch when its first has waited long enough', async () => {
    const batch = await virtualEngine(
      {},
      { schedule: schedule(staticBatching({ batchSize: 4, maxWaitMs: 10 })), kv: contiguousSlots() },
    );
    const seen: string[] = [];
    batch.scheduler.run(() => {
      words(batch.engine.stream({ prompt: 'a', params: { maxTokens: 1 } })).subscribe((text) =>
        seen.push(`${batch.scheduler.now()} ${text}`),
      );
    });
    expect(seen).toEqual(['0 queued', '11 prefill 1/1', '11 b', '11 length:b']);
    expect(batch.steps()).toBe(3);
  });
});

describe('continuous batching', () => {
  it('lets a request join the batch while others are in prefill and decode', async () => {
    const batch = await continuous({ maxNumSeqs: 3, maxNumBatchedTokens: 4 });
    const texts = run(batch, [
      { prompt: 'abcdef', params: { maxTokens: 3 } },
      { prompt: 'm', params: { maxTokens: 3 }, from: 1 },
      { prompt: 'rst', params: { maxTokens: 1 }, from: 3 },
    ]);
    expect(texts).toEqual(['ghi length:ghi', 'nop length:nop', 'u length:u']);
    expect(batch.plans).toEqual(['s0:p4', 's0:p2 s1:p1', 's0:d1 s1:d1 s2:p2', 's0:d1 s1:d1 s2:p1', '']);
  });

  it('refuses a request that can never fit, and goes on with those behind it', async () => {
    const batch = await continuous({}, blocks(3));
    const texts = run(batch, [
      { prompt: 'a'.repeat(12), params: { maxTokens: 1 } },
      { prompt: 'm', params: { maxTokens: 2 } },
    ]);
    expect(texts).toEqual(['RXLLM_CONTEXT_LENGTH_EXCEEDED', 'no length:no']);
  });

  it('ends only the request for which no token can be chosen', async () => {
    const nothing = new Map(Array.from({ length: 32 }, (_, id) => [id, Number.NaN] as const));
    const batch = await virtualEngine(
      {},
      {
        schedule: schedule(continuousBatching()),
        kv: blocks(8),
        // The bounds of the parameters keep infinite logits out.
        tokenize: (context) => (request$) =>
          tokenize()(context)(request$).pipe(
            map((sequence) =>
              sequence.id === 'sick' ? { ...sequence, params: { ...sequence.params, logitBias: nothing } } : sequence,
            ),
          ),
      },
    );
    let used = -1;
    batch.engine.stats$.subscribe(({ blocksUsed }) => {
      used = blocksUsed;
    });
    const texts = run(batch, [
      { prompt: 'abc', params: { maxTokens: 4 } },
      { id: 'sick', prompt: 'm', from: 2 },
      { prompt: 'x', params: { maxTokens: 2 } },
    ]);
    expect(texts).toEqual(['defg length:defg', 'RXLLM_RUNTIME_FAILED', 'yz length:yz']);
    expect(used).toBe(0);
  });

  it('preempts the newest when memory is short, and resumes it without a token shown twice', async () => {
    const batch = await continuous({ maxNumSeqs: 2 }, blocks(3));
    const texts = run(batch, [
      { prompt: 'ab', params: { maxTokens: 5 } },
      { prompt: 'mno', params: { maxTokens: 5 } },
    ]);
    expect(texts).toEqual(['cdefg length:cdefg', 'pqr preemptedst length:pqrst']);
    expect(batch.plans).toEqual([
      's0:p2 s1:p3',
      's0:d1 s1:d1',
      // Each fills its first block, and s1 takes the third one.
      's0:d1 s1:d1',
      's0:d1 !s1',
      // The one free block is not enough for all that s1 has to compute again.
      's0:d1',
      's1:p6',
      's1:d1',
      '',
    ]);
  });

  it('ends a request at its deadline, and all at the close, though they are admitted and put back at each step', async () => {
    const batch = await virtualEngine(
      { delayMs: 2 },
      { schedule: schedule(continuousBatching()), kv: contiguousSlots({ slots: 1 }) },
    );
    const { engine, scheduler } = batch;
    const seen: string[] = [];
    scheduler.run(() => {
      const note = (id: string) => (event: TokenEvent) => {
        if (event.type === 'finished') seen.push(`${scheduler.now()} ${id} ${word(event)}`);
      };
      const params = { maxTokens: 20 };
      engine.stream({ prompt: 'a', params }).subscribe(note('a'));
      // In the middle of a pass, and between two.
      engine.stream({ prompt: 'm', params, deadlineMs: 5 }).subscribe(note('m'));
      engine.stream({ prompt: 'n', params, deadlineMs: 6 }).subscribe(note('n'));
      engine.stream({ prompt: 'o', params }).subscribe(note('o'));
      timer(11, scheduler).subscribe(() => void engine.close());
    });
    expect(seen).toEqual(['6 m abort:', '6 n abort:', '12 a abort:bcde', '12 o abort:']);
  });

  it('preempts by priority, and admits by it', async () => {
    const batch = await continuous({ maxNumSeqs: 2, policy: 'priority' }, blocks(3));
    const texts = run(batch, [
      { prompt: 'ab', params: { maxTokens: 4 }, priority: 1 },
      { prompt: 'mno', params: { maxTokens: 4 } },
      { prompt: 'x', params: { maxTokens: 1 }, priority: 5 },
    ]);
    expect(texts[0]).toContain('preempted');
    expect(texts.map((text) => text.split(':')[1])).toEqual(['cdef', 'pqrs', 'y']);
    expect(batch.plans).toEqual(['s1:p3 s0:p2', 's1:d1 s0:d1', 's1:d1 s0:d1', 's1:d1 !s0', 's0:p5 s2:p1', '']);
  });

  it('pauses for a reader that is behind, takes its blocks in the end, and resumes', async () => {
    const batch = await continuous({ maxNumSeqs: 2 }, blocks(8), { maxPauseMs: 10 });
    const demand$ = new BehaviorSubject(true);
    const seen: string[] = [];
    batch.scheduler.run(() => {
      const { engine, scheduler } = batch;
      const note = (which: string) => (text: string) => seen.push(`${scheduler.now()} ${which} ${text}`);
      words(engine.stream({ prompt: 'abc', demand$, params: { maxTokens: 4 } })).subscribe(note('slow'));
      words(engine.stream({ prompt: 'm', params: { maxTokens: 5 } })).subscribe(note('fast'));
      timer(2, scheduler).subscribe(() => demand$.next(false));
      timer(30, scheduler).subscribe(() => demand$.next(true));
    });
    expect(seen.filter((line) => line.includes('slow'))).toEqual([
      '0 slow queued',
      '1 slow prefill 3/3',
      '1 slow d',
      '13 slow preempted',
      '31 slow prefill 3/3',
      '31 slow e',
      '32 slow f',
      '33 slow g',
      '33 slow length:defg',
    ]);
    expect(seen).toContain('5 fast length:nopqr');
  });

  it('goes on when the demand of a reader completes, and ends the request when it errors', async () => {
    const batch = await continuous({ maxNumSeqs: 2 }, blocks(8));
    const params = { maxTokens: 2 };
    const seen: string[] = [];
    let used = -1;
    batch.engine.stats$.subscribe(({ blocksUsed }) => {
      used = blocksUsed;
    });
    const broken = new Error('no demand');
    batch.scheduler.run(() => {
      const demands: Observable<boolean>[] = [
        of(false),
        throwError(() => broken),
        timer(1, batch.scheduler).pipe(concatMap(() => throwError(() => broken))),
      ];
      for (const [i, demand$] of demands.entries()) {
        words(batch.engine.stream({ prompt: 'abc', params, demand$ })).subscribe({
          next: (text) => seen.push(`${i} ${text}`),
          error: (error: unknown) => seen.push(`${i} ${error === broken}`),
        });
      }
      words(batch.engine.stream({ prompt: 'm', params })).subscribe();
    });
    const of0 = ['0 queued', '0 prefill 3/3', '0 d', '0 e', '0 length:de'];
    expect(seen.filter((line) => line.startsWith('0'))).toEqual(of0);
    expect(seen.filter((line) => line.startsWith('1'))).toEqual(['1 queued', '1 true']);
    expect(seen.filter((line) => line.startsWith('2'))).toEqual(['2 queued', '2 prefill 3/3', '2 d', '2 true']);
    expect(used).toBe(0);
  });

  it.each(['waiting', 'prefill', 'decode', 'paused', 'preempted'] as const)(
    'gives everything back when a request is cancelled while %s',
    async (phase) => {
      const batch = await continuous({ maxNumSeqs: 2, maxNumBatchedTokens: 4 }, blocks(phase === 'preempted' ? 3 : 8));
      const { engine, scheduler } = batch;
      const demand$ = new BehaviorSubject(phase !== 'paused');
      const seen: string[] = [];
      let used = -1;
      engine.stats$.subscribe(({ blocksUsed }) => {
        used = blocksUsed;
      });
      scheduler.run(() => {
        words(engine.stream({ prompt: 'ab', params: { maxTokens: 5 } })).subscribe((text) => seen.push(text));
        if (phase === 'waiting') engine.stream({ prompt: 'm', params: { maxTokens: 30 } }).subscribe();
        const prompt = phase === 'prefill' ? 'mnopqrstu' : 'mno';
        const victim = engine.stream({ prompt, demand$, params: { maxTokens: 9 } }).subscribe((event) => {
          if (phase === 'prefill' && event.type === 'prefill') victim.unsubscribe();
          if (phase === 'decode' && event.type === 'token') victim.unsubscribe();
          if (phase === 'preempted' && event.type === 'preempted') victim.unsubscribe();
        });
        timer(3, scheduler).subscribe(() => {
          if (phase === 'waiting' || phase === 'paused') victim.unsubscribe();
        });
      });
      expect(seen.at(-1)).toBe('length:cdefg');
      expect(used).toBe(0);
      expect(batch.plans.at(-1)).toBe('');
    },
  );
});
