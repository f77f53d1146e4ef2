import { filter, map, mergeMap, of, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { anyToken, slowed } from '../../test/support/slow-matcher.ts';
import { toyModel } from '../../test/support/toy-model.ts';
import type { GenerateRequest, Sequence, Slot } from '../core/contracts/index.ts';
import { noCache } from '../core/memory/no-cache.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { schedule } from '../operators/schedule.ts';
import { tokenize, withGrammar } from '../operators/tokenize.ts';
import { createEngine } from './create-engine.ts';

const MASK_MS = 40;
const PASS_MS = 2;
/** A pass, and the frame between two steps. */
const STEP_MS = PASS_MS + 1;

/** Requests whose id begins with "slow" follow a grammar whose masks take `MASK_MS`. */
const withSlowGrammars: Slot<GenerateRequest, Sequence> = (context) => {
  const toSequence = tokenize()(context);
  const { clock } = context.options;
  return mergeMap((request) =>
    of(request).pipe(
      toSequence,
      map((sequence) =>
        withGrammar(sequence, sequence.id.startsWith('slow') ? slowed(anyToken(), MASK_MS, clock) : undefined),
      ),
    ),
  );
};

interface Asked {
  readonly id: string;
  readonly tokens: number;
  readonly at?: number;
  readonly cancelAt?: number;
}

interface Heard {
  text: string;
  /** When each token came. */
  readonly at: number[];
}

/** What the readers of these requests hear, and how many blocks are held in the end. */
async function run(asked: readonly Asked[], kv = pagedBlocks({ blockSize: 4, blocks: 60 })) {
  const scheduler = testScheduler();
  const { recipe } = scriptedRecipe(
    { delayMs: PASS_MS, clock: scheduler },
    { kv, schedule: schedule(continuousBatching()), tokenize: withSlowGrammars },
  );
  const engine = await createEngine(recipe, toyModel, virtualOptions(scheduler));
  const heard = new Map<string, Heard>();
  let blocksUsed: number | undefined;
  scheduler.run(() => {
    engine.stats$.subscribe((stats) => {
      blocksUsed = stats.blocksUsed;
    });
    for (const { id, tokens, at = 0, cancelAt } of asked) {
      const mine: Heard = { text: '', at: [] };
      heard.set(id, mine);
      timer(at, scheduler).subscribe(() => {
        const reading = engine
          .stream({ id, prompt: 'abc', params: { maxTokens: tokens } })
          .pipe(filter((event) => event.type === 'token'))
          .subscribe(({ text }) => {
            mine.text += text;
            mine.at.push(scheduler.now());
          });
        if (cancelAt !== undefined) timer(cancelAt - at, scheduler).subscribe(() => reading.unsubscribe());
      });
    }
  });
  await engine.close();
  return { heard: (id: string) => heard.get(id)!, blocksUsed };
}

const gaps = ({ at }: Heard) => at.slice(1).map((time, i) => time - at[i]!);

describe('a row whose masks are slow', () => {
  it('is left out until its mask is there, while its neighbours go on', async () => {
    const { heard } = await run([
      { id: 'slow', tokens: 4 },
      { id: 'other', tokens: 20 },
    ]);
    expect(heard('other').text).toBe('defghijklmnopqrstuvw');
    expect(heard('slow').text).toBe('defg');
    // Once for each of its tokens the other one waits, and not for long.
    const long = gaps(heard('other')).filter((gap) => gap > STEP_MS);
    expect(long).toHaveLength(2);
    for (const gap of long) expect(gap).toBeLessThanOrEqual(STEP_MS + 10);
    for (const gap of gaps(heard('slow'))) expect(gap).toBeLessThanOrEqual(MASK_MS + 2 * STEP_MS + 10);
  });

  it('takes no more than its masks do when it is alone', async () => {
    const { heard } = await run([{ id: 'slow', tokens: 4 }]);
    expect(heard('slow').text).toBe('defg');
    expect(gaps(heard('slow'))).toEqual([MASK_MS, MASK_MS, MASK_MS]);
  });

  it('does not hold up who arrives while it waits', async () => {
    const { heard } = await run([
      { id: 'slow', tokens: 4 },
      { id: 'other', tokens: 2, at: 8 },
    ]);
    expect(heard('other').at[0]).toBeLessThanOrEqual(8 + 10 + 2 * STEP_MS);
    expect(heard('slow').text).toBe('defg');
  });

  it('wakes the loop when nobody else has anything to do', async () => {
    const { heard } = await run([
      { id: 'slow', tokens: 2 },
      { id: 'slower', tokens: 2, at: 6 },
      { id: 'other', tokens: 1 },
    ]);
    for (const id of ['slow', 'slower']) expect(heard(id).text).toBe('de');
  });

  it('gives back what it holds when it is cancelled while it waits', async () => {
    const { heard, blocksUsed } = await run([
      { id: 'slow', tokens: 4, cancelAt: 30 },
      { id: 'other', tokens: 20 },
    ]);
    expect(heard('slow').text).toBe('');
    expect(heard('other').text).toBe('defghijklmnopqrstuvw');
    expect(blocksUsed).toBe(0);
  });

  it('is told the same without a cache', async () => {
    const asked = [
      { id: 'slow', tokens: 4 },
      { id: 'other', tokens: 20 },
    ];
    const { heard } = await run(asked, noCache());
    expect([heard('slow').text, heard('other').text]).toEqual(['defg', 'defghijklmnopqrstuvw']);
  });
});
