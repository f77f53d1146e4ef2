import { delay, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { testScheduler } from '../../../test/support/marbles.ts';
import { toyConfig, toyModel } from '../../../test/support/toy-model.ts';
import type { ForwardBatch, GraphSource, Logits, ModelRunner } from '../contracts/index.ts';
import { createTurns } from './turns.ts';

const batch: ForwardBatch = { rows: 0, width: 0, ids: [], positions: [], blockTables: [], logitsAt: [] };
const graph: GraphSource = { layout: 'none', weightsDirectory: '', author: () => new Uint8Array() };
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const logits: Logits = { rows: 0, vocab: 0, data: new Float32Array() };

async function runners(...forwards: ModelRunner['forward'][]) {
  const share = createTurns();
  return Promise.all(
    forwards.map((forward) =>
      share(async () => ({
        config: toyConfig,
        description: 'a',
        forward,
        copyBlocks: () => {},
        dispose: async () => {},
      }))(graph, toyModel, pool),
    ),
  );
}

describe('runners that take turns', () => {
  it('run one pass at a time, in the order of asking, whosever it is', async () => {
    const scheduler = testScheduler();
    const slow = () => of(logits).pipe(delay(3, scheduler));
    const [a, b] = await runners(slow, slow);
    scheduler.run(({ expectObservable }) => {
      expectObservable(a!.forward(batch)).toBe('---(l|)', { l: logits });
      expectObservable(b!.forward(batch)).toBe('------(l|)', { l: logits });
      expectObservable(a!.forward(batch)).toBe('---------(l|)', { l: logits });
    });
  });

  it('emit at once where nobody is before them', async () => {
    const [a, b] = await runners(
      () => of(logits),
      () => throwError(() => 'fault'),
    );
    testScheduler().run(({ expectObservable }) => {
      expectObservable(b!.forward(batch)).toBe('#', {}, 'fault');
      expectObservable(a!.forward(batch)).toBe('(l|)', { l: logits });
    });
  });

  it('skip who has left, and keep the turn of a pass that nobody waits for any more', async () => {
    const scheduler = testScheduler();
    const passes: number[] = [];
    const slow = () => {
      passes.push(scheduler.now());
      return of(logits).pipe(delay(4, scheduler));
    };
    const [a, b] = await runners(slow, slow);
    scheduler.run(({ expectObservable }) => {
      expectObservable(a!.forward(batch), '^-!').toBe('---');
      expectObservable(b!.forward(batch), '^-!').toBe('---');
      expectObservable(b!.forward(batch)).toBe('--------(l|)', { l: logits });
    });
    expect(passes).toEqual([0, 4]);
  });
});
