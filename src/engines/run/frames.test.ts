import { concatMap, from, map, skip } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, prefillRow, runningSequence } from '../../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../../test/support/marbles.ts';
import { virtualEngine } from '../../../test/support/virtual-engine.ts';
import type { Detokenized, EngineFrame, Settled } from '../../core/contracts/index.ts';
import { pagedBlocks } from '../../core/memory/paged-blocks.ts';
import { continuousBatching } from '../../core/scheduling/continuous-batching.ts';
import { allocateBlocks } from '../../operators/allocate-blocks.ts';
import { schedule } from '../../operators/schedule.ts';
import { toFrames } from './frames.ts';

const settled = (parts: Partial<Detokenized>): Settled => ({ ...emptyStep(parts), events: new Map() });
const step = (index: number) => settled({ index });
const indices = ({ steps }: EngineFrame) => steps.map(({ index }) => index);

describe('toFrames', () => {
  it('emits at once, then at most one frame in so many milliseconds, with every step since', () => {
    const scheduler = testScheduler();
    scheduler.run(({ hot, expectObservable }) => {
      const values = { a: step(0), b: step(1), c: step(2), d: step(3), e: step(4) };
      const steps = hot('         --a-b-c-d-----------e---', values);
      const frames = steps.pipe(toFrames(operatorContext(scheduler), 5), map(indices));
      expectObservable(frames).toBe('f-a----b----c-------e---', { f: [], a: [0], b: [1, 2], c: [3], e: [4] });
    });
  });

  it('tells of the latest 256 steps', () => {
    const scheduler = testScheduler();
    const seen: number[][] = [];
    scheduler.run(({ cold }) => {
      const burst = cold('a----------').pipe(concatMap(() => from(Array.from({ length: 300 }, (_, i) => step(i)))));
      burst.pipe(toFrames(operatorContext(scheduler), 5), map(indices)).subscribe((steps) => seen.push(steps));
    });
    expect(seen.map((steps) => [steps.length, steps[0], steps.at(-1)])).toEqual([
      [0, undefined, undefined],
      [1, 0, 0],
      [256, 44, 299],
    ]);
  });

  it('tells what became of a draft, and copies: what happens later does not show', () => {
    const scheduler = testScheduler();
    const context = operatorContext(scheduler);
    const [a, b] = ['a', 'b'].map((id) => runningSequence(context, { prompt: 'abc', id }));
    const frames: EngineFrame[] = [];
    scheduler.run(({ cold }) => {
      const steps = cold('a', {
        a: settled({
          rows: [prefillRow(a!), decodeRow(b!)],
          drafts: new Map([['b', { tokens: [5, 6, 7] }]]),
          accepted: new Map([['b', [5, 9]]]),
        }),
      });
      steps.pipe(toFrames(context, 5), skip(1)).subscribe((frame) => frames.push(frame));
    });
    b!.tokens.push(5, 9);
    b!.computed = 5;
    const trace = { phase: 'running', promptLength: 3, length: 3, computed: 0, cached: 0 };
    expect(frames).toEqual([
      {
        steps: [
          {
            index: 0,
            rows: [
              { id: 'a', kind: 'prefill', tokens: 3, drafted: 0, accepted: 0 },
              { id: 'b', kind: 'decode', tokens: 1, drafted: 3, accepted: 1 },
            ],
            preempted: [],
            firstTokens: [],
            finished: [],
          },
        ],
        running: [
          { ...trace, id: 'a' },
          { ...trace, id: 'b' },
        ],
        waiting: [],
        kv: { tables: new Map(), cached: [] },
      },
    ]);
  });

  it('is well behaved', () => {
    expectWellBehaved<Settled, EngineFrame>(
      (scheduler) => (settled$) => settled$.pipe(toFrames(operatorContext(scheduler), 5), skip(1)),
      step(0),
    );
  });
});

describe('watch', () => {
  it('shows queue, batch, blocks, preemption and what came of each request, and nothing is left in the end', async () => {
    const { engine, scheduler } = await virtualEngine(
      {},
      {
        schedule: schedule(continuousBatching({ maxNumSeqs: 2 })),
        allocate: allocateBlocks(),
        kv: pagedBlocks({ blockSize: 4, blocks: 5 }),
      },
    );
    const frames: EngineFrame[] = [];
    scheduler.run(() => {
      const watching = engine.watch(1).subscribe((frame) => frames.push(frame));
      scheduler.schedule(() => watching.unsubscribe(), 90);
      for (const id of ['x', 'y', 'z']) {
        engine.stream({ id, prompt: 'abcd', params: { maxTokens: 8, ignoreEos: true } }).subscribe();
      }
    });
    const steps = frames.flatMap((frame) => frame.steps);
    expect(steps.flatMap(({ preempted }) => preempted)).toEqual(['y', 'z']);
    expect(steps.flatMap(({ finished }) => finished.map(({ id, reason }) => [id, reason]))).toEqual([
      ['x', 'length'],
      ['y', 'length'],
      ['z', 'length'],
    ]);
    expect(steps.flatMap(({ firstTokens }) => firstTokens.map(({ id }) => id))).toEqual(['x', 'y', 'z']);
    const first = frames.find(({ running }) => running.length === 2)!;
    expect(first.waiting.map(({ id }) => id)).toEqual(['z']);
    expect([...first.kv.tables.keys()]).toEqual(['x', 'y']);
    expect(frames.at(-1)).toMatchObject({ running: [], waiting: [], kv: { tables: new Map(), cached: [] } });
    await engine.close();
  });
});
