import fc from 'fast-check';
import { tap, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { at, virtualEngine, words } from '../../test/support/virtual-engine.ts';
import type { Allocated, EngineStats, KvSlot, Observer, Tick, TokenEvent, TokenId } from '../core/contracts/index.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { prefixCached } from '../core/memory/prefix-cached.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { schedule } from '../operators/schedule.ts';

const allocators = { paged: pagedBlocks, cached: prefixCached };

/** Depends on every token before it, so that one wrong key in the cache changes the text. */
const next = (history: readonly TokenId[]): TokenId =>
  3 + (history.reduce((sum, id, i) => (sum * 31 + id * (i + 1)) % 1_000_003, 7) % 26);

const letter = (id: TokenId) => String.fromCharCode('a'.charCodeAt(0) + id - 3);
const ids = (text: string) => Array.from(text, (char) => char.charCodeAt(0) - 'a'.charCodeAt(0) + 3);

/** What the script spells after a prompt. */
function spelled(prompt: string, count: number): string {
  const history = ids(prompt);
  for (let i = 0; i < count; i++) history.push(next(history));
  return history.slice(prompt.length).map(letter).join('');
}

const engineOf = (kv: KvSlot, observers: readonly Observer[] = [], options = {}) =>
  virtualEngine({ next }, { kv, schedule: schedule(continuousBatching()), observers }, options);

const prefills = (events: readonly TokenEvent[]) =>
  events.flatMap((event) => (event.type === 'prefill' ? [`${event.cached}+${event.computed}/${event.total}`] : []));

describe('forked requests', () => {
  it.each(['paged', 'cached'] as const)('%s: share the prompt once it is computed', async (kind) => {
    const copies: unknown[] = [];
    const watch: Observer = <T extends Tick>(_: unknown, stage: string) =>
      tap<T>((step) => {
        if (stage !== 'allocate') return;
        for (const { copies: made } of (step as unknown as Allocated).reservations.values())
          copies.push(...(made ?? []));
      });
    const { engine, scheduler, plans } = await engineOf(allocators[kind]({ blockSize: 4, blocks: 20 }), [watch], {
      maxNumSeqs: 4,
    });
    const texts: string[] = [];
    let used = 0;
    engine.stats$.subscribe(({ blocksUsed }) => {
      used = Math.max(used, blocksUsed);
    });
    scheduler.run(() => {
      for (const i of [0, 1, 2, 3]) {
        const request = {
          prompt: 'abcdefghij',
          params: { maxTokens: 3 },
          ...(i === 0 ? { id: 'x' } : { forkOf: 'x' }),
        };
        engine.stream(request).subscribe((event) => {
          if (event.type === 'finished') texts.push(event.result.text);
        });
      }
    });
    expect(texts).toEqual(Array(4).fill(spelled('abcdefghij', 3)));
    expect(plans).toEqual(['x:p10', 'x:d1 s0:p1 s1:p1 s2:p1', 'x:d1 s0:d1 s1:d1 s2:d1', 's0:d1 s1:d1 s2:d1', '']);
    // Two full blocks in common, and a last one each; 4 × 4 blocks if nothing were shared.
    expect(copies).toEqual([4, 5, 6].map((to) => ({ from: 3, to })));
    expect(used).toBe(2 + 4);
  });

  it('of a request that has gone, or where blocks cannot be shared, run by themselves', async () => {
    for (const change of [{ kv: pagedBlocks({ blockSize: 4, blocks: 20 }) }, {}]) {
      const { engine, scheduler } = await virtualEngine(
        { next },
        { schedule: schedule(continuousBatching()), ...change },
      );
      const seen: string[] = [];
      scheduler.run(() => {
        const parent = engine.stream({ id: 'x', prompt: 'abcdefghij', params: { maxTokens: 20 } }).subscribe();
        const child = { prompt: 'abcdefghij', forkOf: 'x', params: { maxTokens: 2 } };
        words(engine.stream(child)).subscribe((text) => seen.push(text));
        parent.unsubscribe();
        at(50, words(engine.stream(child)), scheduler).subscribe((text) => seen.push(text));
      });
      const text = spelled('abcdefghij', 2);
      const whole = ['queued', 'prefill 10/10', ...text, `length:${text}`];
      expect(seen).toEqual([...whole, ...whole]);
    }
  });

  it.each([{ prompt: 'abd' }, { prompt: 'abc', cacheSalt: 'mine' }])(
    'with another prompt or another salt are refused: %j',
    async (fork) => {
      const { engine, scheduler } = await engineOf(pagedBlocks({ blockSize: 4, blocks: 20 }));
      const errors: unknown[] = [];
      scheduler.run(() => {
        engine.stream({ id: 'x', prompt: 'abc', params: { maxTokens: 2 } }).subscribe();
        engine.stream({ ...fork, forkOf: 'x' }).subscribe({ error: (error) => errors.push(error) });
      });
      expect(errors).toEqual([expect.objectContaining({ code: 'RXLLM_INVALID_REQUEST', param: 'forkOf' })]);
    },
  );
});

describe('prefix caching', () => {
  it('computes only what is new, in the next turn too, and counts it', async () => {
    const { engine, scheduler, plans } = await engineOf(prefixCached({ blockSize: 4, blocks: 20 }));
    const events: TokenEvent[][] = [];
    const turn = spelled('abcdefghij', 4);
    let last: EngineStats | undefined;
    engine.stats$.subscribe((stats) => {
      last = stats;
    });
    scheduler.run(() => {
      const prompts = ['abcdefghij', 'abcdefghzz', `abcdefghij${turn}xyz`];
      prompts.forEach((prompt, i) => {
        events.push([]);
        at(100 * i, engine.stream({ prompt, params: { maxTokens: 4 } }), scheduler).subscribe((event) =>
          events[i]!.push(event),
        );
      });
    });
    expect(events.map(prefills)).toEqual([['0+10/10'], ['8+10/10'], ['12+17/17']]);
    expect(plans.filter((plan) => plan.includes('p'))).toEqual(['s0:p10', 's1:p2', 's2:p5']);
    const results = events.map((each) => each.find((event) => event.type === 'finished')?.result);
    expect(results.map((result) => result?.metrics.cachedTokens)).toEqual([undefined, 8, 12]);
    expect(results[2]?.text).toBe(spelled(`abcdefghij${turn}xyz`, 4));
    expect(last).toMatchObject({ blocksUsed: 0, prefixCache: { queries: 10 + 10 + 17, hits: 8 + 12 } });
  });

  it('spends the budget of a step on what is not cached', async () => {
    const { engine, scheduler, plans } = await engineOf(prefixCached({ blockSize: 4, blocks: 30 }), [], {
      maxNumBatchedTokens: 6,
    });
    scheduler.run(() => {
      engine.stream({ prompt: 'a'.repeat(13), params: { maxTokens: 1 } }).subscribe();
      for (const suffix of ['bcd', 'efg']) {
        at(
          50,
          engine.stream({ prompt: `${'a'.repeat(12)}${suffix}`, params: { maxTokens: 1 } }),
          scheduler,
        ).subscribe();
      }
    });
    expect(plans).toEqual(['s0:p6', 's0:p6', 's0:p1', '', 's1:p3 s2:p3', '']);
  });

  it('keeps salts apart', async () => {
    const { engine, scheduler } = await engineOf(prefixCached({ blockSize: 4, blocks: 20 }));
    const seen: string[] = [];
    scheduler.run(() => {
      ['x', 'y', 'x'].forEach((cacheSalt, i) => {
        const request = { prompt: 'abcdefghij', params: { maxTokens: 1 }, cacheSalt };
        at(50 * i, engine.stream(request), scheduler).subscribe((event) => seen.push(...prefills([event])));
      });
    });
    expect(seen).toEqual(['0+10/10', '0+10/10', '8+10/10']);
  });

  it('finds what a preempted request had computed', async () => {
    const { engine, scheduler, plans } = await engineOf(prefixCached({ blockSize: 4, blocks: 6 }));
    const texts: string[] = [];
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abcdefg', 'mnopqrs']) {
        engine.stream({ prompt, params: { maxTokens: 6 } }).subscribe((event) => {
          seen.push(...prefills([event]), ...(event.type === 'preempted' ? ['preempted'] : []));
          if (event.type === 'finished') texts.push(event.result.text);
        });
      }
    });
    expect(texts).toEqual([spelled('abcdefg', 6), spelled('mnopqrs', 6)]);
    expect(seen).toEqual(['0+7/7', '0+7/7', 'preempted']);
    // s1 comes back with both its full blocks, and lacks only the token that follows them.
    const [alone, other] = ['s0:d1', 's1:d1'];
    expect(plans).toEqual([
      's0:p7 s1:p7',
      's0:d1 s1:d1',
      's0:d1 !s1',
      ...[alone, alone, alone, other, other, other, other, ''],
    ]);
  });
});

const arrival = fc.record({
  at: fc.nat(25),
  prefix: fc.constantFrom('', 'aaaaaaaa', 'abcdefgh', 'abcdefghij'),
  suffix: fc.constantFrom('', 'k', 'klm', 'klmnop'),
  maxTokens: fc.integer({ min: 1, max: 10 }),
  fork: fc.boolean(),
  salt: fc.constantFrom(undefined, undefined, 'x'),
  cancelAfter: fc.option(fc.nat(15), { freq: 2 }),
});

describe.each(['paged', 'cached'] as const)('%s, whatever arrives', (kind) => {
  it('every request ends with its own text, and every block comes back', async () => {
    const play = async (arrivals: readonly (typeof arrival extends fc.Arbitrary<infer A> ? A : never)[]) => {
      const kv = allocators[kind]({ blockSize: 4, blocks: 10 });
      const { engine, scheduler } = await engineOf(kv, [], { maxQueue: 100, maxNumBatchedTokens: 7, maxNumSeqs: 3 });
      let used = 0;
      engine.stats$.subscribe(({ blocksUsed }) => {
        used = blocksUsed;
      });
      const texts: (string | undefined)[] = arrivals.map(() => undefined);
      scheduler.run(() => {
        arrivals.forEach(({ at: frame, prefix, suffix, maxTokens, fork, salt, cancelAfter }, i) => {
          timer(frame, scheduler).subscribe(() => {
            const forkOf = arrivals.findIndex(
              (other) => other.prefix === prefix && other.suffix === suffix && other.salt === salt,
            );
            const subscription = engine
              .stream({
                id: `${i}`,
                prompt: `m${prefix}${suffix}`,
                params: { maxTokens },
                ...(fork && forkOf !== i && { forkOf: `${forkOf}` }),
                ...(salt && { cacheSalt: salt }),
              })
              .subscribe((event) => {
                if (event.type === 'finished') texts[i] = event.result.text;
              });
            if (cancelAfter !== null) timer(cancelAfter, scheduler).subscribe(() => subscription.unsubscribe());
          });
        });
      });
      return { texts, used };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 10 }), async (arrivals) => {
        const { texts, used } = await play(arrivals);
        expect(used).toBe(0);
        arrivals.forEach(({ prefix, suffix, maxTokens, cancelAfter }, i) => {
          const whole = spelled(`m${prefix}${suffix}`, maxTokens);
          expect(cancelAfter === null ? [whole] : [whole, undefined]).toContain(texts[i]);
        });
      }),
      { numRuns: 60 },
    );
  });

  it('1,000 requests aborted at random moments give every block back', async () => {
    const kv = allocators[kind]({ blockSize: 2, blocks: 24 });
    const invariants: Observer = <T extends Tick>(context: Parameters<Observer>[0], stage: string) =>
      tap<T>(() => {
        if (stage === 'settle') context.kv.checkInvariants();
      });
    const { engine } = await scriptedEngine(
      { next, delayMs: ({ width }) => width % 2 },
      { maxQueue: 1000 },
      { kv, schedule: schedule(continuousBatching()), observers: [invariants] },
    );
    let last: EngineStats | undefined;
    engine.stats$.subscribe((stats) => {
      last = stats;
    });
    const random = (limit: number) => Math.floor(Math.random() * limit);
    const errors: unknown[] = [];
    const ends = Array.from({ length: 1000 }, async (_, i) => {
      const prompt = 'abcabcabcabc'.slice(0, 2 + (i % 10));
      const forkOf = i % 3 === 0 || i < 20 ? {} : { forkOf: `${i - 10 - ((i - 10) % 10) + (i % 10)}` };
      const subscription = engine
        .stream({ id: `${i}`, prompt, params: { maxTokens: 1 + random(9) }, ...forkOf })
        .subscribe({ error: (error) => errors.push(error) });
      await new Promise((resolve) => setTimeout(resolve, random(400)));
      subscription.unsubscribe();
    });
    await Promise.all(ends);
    expect(await engine.generate('abc', 2)).toMatchObject({ text: spelled('abc', 2) });
    expect(last).toMatchObject({ waiting: 0, running: 0, paused: 0, blocksUsed: 0 });
    expect(errors).toEqual([]);
    await engine.close();
  });
});
