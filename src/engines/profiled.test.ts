import { last } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { toyModel } from '../../test/support/toy-model.ts';
import type { ForwardBatch } from '../core/contracts/index.ts';
import { profile } from '../operators/profile.ts';
import { baseline } from './baseline.ts';
import { createEngine } from './create-engine.ts';
import { profiled } from './profiled.ts';

describe('profiled', () => {
  it('accounts for every moment of a staged engine, from the arrival to the last event', async () => {
    const scheduler = testScheduler();
    const times = profile(scheduler);
    const passes: (readonly [tokens: number, ms: number])[] = [];
    const { recipe } = scriptedRecipe({ delayMs: ({ width }: ForwardBatch) => 2 + width, clock: scheduler });
    const ended = ({ width }: ForwardBatch, ms: number) => passes.push([width, ms]);
    const engine = await createEngine(profiled(recipe, times, { ended }), toyModel, virtualOptions(scheduler));
    let wall = 0;
    let stages: ReturnType<typeof times.stages> = [];
    scheduler.run(() => {
      engine.stats$.pipe(times.stage('deliver')).subscribe();
      times.start();
      engine
        .stream({ prompt: 'abc', params: { maxTokens: 3 } })
        .pipe(last())
        .subscribe(() => {
          wall = scheduler.now();
          stages = times.stages();
        });
    });
    // A turn of the event loop of one frame, a pass of 5, and twice a turn and a pass of 3.
    expect(wall).toBe(14);
    expect(stages.reduce((sum, { selfMs }) => sum + selfMs, 0)).toBe(14);
    expect(passes).toEqual([
      [3, 5],
      [1, 3],
      [1, 3],
    ]);
    const of = (name: string, within?: string) => stages.find((one) => one.stage === name && one.within === within);
    expect(of('tokenize')).toMatchObject({ items: 1, selfMs: 0 });
    expect(of('asleep')).toMatchObject({ items: 1, selfMs: 1 });
    expect(of('between steps')).toMatchObject({ items: 2, selfMs: 2 });
    expect(of('prefill')).toMatchObject({ items: 3, totalMs: 5, selfMs: 0 });
    expect(of('forward pass', 'prefill')).toMatchObject({ items: 1, selfMs: 5 });
    expect(of('decode')).toMatchObject({ items: 3, totalMs: 6, selfMs: 0 });
    expect(of('forward pass', 'decode')).toMatchObject({ items: 2, selfMs: 6 });
    expect(of('deliver')).toMatchObject({ items: 2, selfMs: 0 });
    await engine.close();
  });

  it('sees of a box its forward passes', async () => {
    const scheduler = testScheduler();
    const times = profile(scheduler);
    const { runtime } = scriptedRecipe({ delayMs: 2, clock: scheduler });
    const graph = { layout: 'none', weightsDirectory: '', author: () => new Uint8Array() } as const;
    const box = { ...baseline, model: () => graph, runtime };
    const engine = await createEngine(profiled(box, times), toyModel, virtualOptions(scheduler));
    scheduler.run(() => {
      times.start();
      engine.stream({ prompt: 'abc', params: { maxTokens: 2 } }).subscribe();
    });
    expect(times.stages()).toEqual([
      { stage: 'between requests', items: 1, totalMs: 1, selfMs: 1 },
      { stage: 'box', items: 1, totalMs: 5, selfMs: 1 },
      { stage: 'forward pass', within: 'box', items: 2, totalMs: 4, selfMs: 4 },
    ]);
    await engine.close();
  });
});
