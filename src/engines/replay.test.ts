import { BehaviorSubject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { alphabet, scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { toyModel } from '../../test/support/toy-model.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import type { RecordLine } from '../core/recording/lines.ts';
import { createRandom } from '../core/sampling/random.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { staticBatching } from '../core/scheduling/static-batching.ts';
import { record } from '../operators/record.ts';
import { schedule } from '../operators/schedule.ts';
import { createEngine } from './create-engine.ts';
import { replay } from './replay.ts';
import { observe } from './swap.ts';

const options = {
  maxQueue: 100,
  maxModelLen: 64,
  kvCacheMemoryMiB: 1,
  maxNumSeqs: 3,
  maxNumBatchedTokens: 8,
  maxPauseMs: 20,
};
const header: RecordLine = { type: 'engine', engine: 'scripted', model: 'toy', seed: 5, options };
const policies = { continuous: continuousBatching(), static: staticBatching({ maxWaitMs: 3 }) };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const recipeOf = (policy: keyof typeof policies, script = {}) =>
  scriptedRecipe(script, { schedule: schedule(policies[policy]), kv: pagedBlocks({ blockSize: 4, blocks: 10 }) })
    .recipe;

/** A lively time: requests of all kinds, cancelled, late, with readers that fall behind, and a pass that fails. */
async function recorded(policy: keyof typeof policies): Promise<readonly RecordLine[]> {
  const lines: RecordLine[] = [header];
  const script = { delayMs: 1, fail: (call: number) => (call === 40 ? new Error('fault') : undefined) };
  const recipe = observe(
    recipeOf(policy, script),
    record((line) => lines.push(structuredClone(line))),
  );
  const engine = await createEngine(recipe, toyModel, { ...options, random: createRandom(5) });
  const random = createRandom(7);
  const requests = Array.from({ length: 30 }, async (_, i) => {
    await pause(random() * 60);
    const demand$ = new BehaviorSubject(true);
    const [length, maxTokens, temperature] = [1 + random() * 8, 1 + Math.floor(random() * 12), i % 3];
    await new Promise<void>((resolve) => {
      const subscription = engine
        .stream({
          prompt: 'a'.repeat(length),
          demand$,
          ...(i % 7 === 3 ? { deadlineMs: 12 } : {}),
          params: { maxTokens, temperature, ...(i % 5 === 0 ? { logitBias: new Map([[9, 40]]) } : {}) },
        })
        .subscribe({ error: () => resolve(), complete: () => resolve() });
      if (i % 4 === 1) setTimeout(() => resolve(subscription.unsubscribe()), random() * 30);
      if (i % 6 === 2) setTimeout(() => demand$.next(false), random() * 10);
      if (i % 6 === 2) setTimeout(() => demand$.next(true), 10 + random() * 40);
    });
  });
  await Promise.all(requests);
  await engine.close();
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
