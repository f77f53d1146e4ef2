import { BehaviorSubject, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../../test/support/context.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import { alphabet, scriptedRecipe } from '../../../test/support/scripted-engine.ts';
import { toyModel } from '../../../test/support/toy-model.ts';
import { pagedBlocks } from '../../core/memory/paged-blocks.ts';
import type { RecordLine } from '../../core/recording/lines.ts';
import { createRandom } from '../../core/sampling/random.ts';
import { continuousBatching } from '../../core/scheduling/continuous-batching.ts';
import { staticBatching } from '../../core/scheduling/static-batching.ts';
import { record } from '../../operators/record.ts';
import { schedule } from '../../operators/schedule.ts';
import { createEngine } from '../create-engine.ts';
import { observe } from '../swap.ts';
import { replay } from './replay.ts';

const options = {
  maxQueue: 100,
  maxModelLen: 64,
  kvCacheMemoryMiB: 1,
  blockSize: 4,
  maxNumSeqs: 3,
  maxNumBatchedTokens: 8,
  maxPauseMs: 20,
};
const header: RecordLine = { type: 'engine', engine: 'scripted', model: 'toy', seed: 5, options };
const policies = { continuous: continuousBatching(), static: staticBatching({ maxWaitMs: 3 }) };

const recipeOf = (policy: keyof typeof policies, script = {}) =>
  scriptedRecipe(script, { schedule: schedule(policies[policy]), kv: pagedBlocks({ blockSize: 4, blocks: 10 }) })
    .recipe;

/** A lively time: requests of all kinds, cancelled, late, with readers that fall behind, and a pass that fails. */
async function recorded(policy: keyof typeof policies): Promise<readonly RecordLine[]> {
  const lines: RecordLine[] = [header];
  const scheduler = testScheduler();
  const recipe = observe(
    recipeOf(policy, {
      delayMs: 2,
      clock: scheduler,
      fail: (call: number) => (call === 40 ? new Error('fault') : undefined),
    }),
    record((line) => lines.push(structuredClone(line))),
  );
  const engine = await createEngine(recipe, toyModel, {
    ...virtualOptions(scheduler),
    ...options,
    random: createRandom(5),
  });
  const random = createRandom(7);
  const soon = (frames: number) => timer(Math.floor(random() * frames), scheduler);
  scheduler.run(() => {
    for (let i = 0; i < 30; i++) {
      const demand$ = new BehaviorSubject(true);
      const prompt = 'a'.repeat(1 + random() * 8);
      const request = engine.stream({
        id: `r${i}`,
        prompt,
        demand$,
        ...(i % 7 < 3 ? { deadlineMs: 30 + i } : {}),
        params: {
          maxTokens: 1 + Math.floor(random() * 12),
          temperature: i % 3,
          ...(i % 5 === 0 ? { logitBias: new Map([[9, 40]]) } : {}),
        },
      });
      soon(60).subscribe(() => {
        const subscription = request.subscribe({ error: () => {} });
        if (i % 3 === 0)
          engine.stream({ prompt, forkOf: `r${i}`, params: { maxTokens: 6 } }).subscribe({ error: () => {} });
        if (i % 4 === 1) soon(60).subscribe(() => subscription.unsubscribe());
        if (i % 6 === 2) soon(10).subscribe(() => demand$.next(false));
        if (i % 6 === 2) timer(70, scheduler).subscribe(() => demand$.next(true));
      });
    }
  });
  return lines;
}

describe.each(['continuous', 'static'] as const)('a recording of %s batching', (policy) => {
  it('replays to the same plans and events, without the delays', async () => {
    const lines = await recorded(policy);
    const kinds = new Set(lines.map(({ type }) => type));
    expect([...kinds].sort()).toEqual(['abort', 'arrive', 'cancel', 'engine', 'pause', 'resume', 'step']);
    const replayed = await replay(recipeOf(policy), toyModel, JSON.parse(JSON.stringify(lines)) as RecordLine[]);
    expect(replayed.parting).toBeUndefined();
    expect(replayed.steps).toBeGreaterThan(30);
  });

  it('parts where the model speaks otherwise', async () => {
    const lines = await recorded(policy);
    const other = recipeOf(policy, {
      next: (history: readonly number[]) => (history.length > 6 ? 4 : alphabet(history)),
    });
    const { parting } = await replay(other, toyModel, lines);
    const first = lines.find(
      ({ type, ...line }) => type === 'step' && 'index' in line && line.index === parting?.index,
    );
    expect(first).toMatchObject(parting!.recorded);
    expect(parting?.replayed.rows).toEqual(parting?.recorded.rows);
    expect(parting?.replayed.events).not.toEqual(parting?.recorded.events);
  });
});

describe('replay', () => {
  it('refuses what is no recording', async () => {
    const code = 'RXLLM_INVALID_REQUEST';
    await expect(replay(recipeOf('static'), toyModel, [])).rejects.toMatchObject({ code });
    const stray: RecordLine = { type: 'cancel', id: 'x', during: false };
    await expect(replay(recipeOf('static'), toyModel, [header, stray])).rejects.toMatchObject({
      code,
      message: expect.stringContaining('"x"'),
    });
  });
});
