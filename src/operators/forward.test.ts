import { delay, map, type Observable, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  decodeRow,
  emptyStep,
  operatorContext,
  prefillRow,
  runningSequence,
  virtualOptions,
} from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { letters, toyConfig, toyModel } from '../../test/support/toy-model.ts';
import type { Computed, EngineContext, ForwardBatch, Logits, ModelRunner, Sequence } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { decodeStep } from './decode-step.ts';
import { prefill } from './prefill.ts';

/** Two logits a wanted row, from one buffer that the next pass overwrites; keeps what it was asked to run. */
function bufferedRunner(pass: (source: Observable<Logits>) => Observable<Logits> = (source) => source) {
  const batches: ForwardBatch[] = [];
  const buffer = new Float32Array(8);
  let count = 0;
  const runner: ModelRunner = {
    config: toyConfig,
    description: 'buffered',
    forward: (batch) => {
      batches.push(batch);
      count += 1;
      buffer.forEach((_, i) => {
        buffer[i] = count * 10 + i;
      });
      return pass(of({ rows: batch.logitsAt.length, vocab: 2, data: buffer }));
    },
    copyBlocks: () => {},
    dispose: () => Promise.resolve(),
  };
  return { runner, batches };
}

const stepOf = (context: EngineContext, rows: Computed['rows']): Computed => {
  const reservations = new Map(
    rows.map(({ sequence, newTokens }) => [sequence.id, context.kv.reserve(sequence, newTokens)!]),
  );
  return emptyStep({ rows, reservations });
};

const logitsOf = ({ logits }: Computed) => [...logits].map(([id, row]) => [id, [...row]]);

describe('prefill', () => {
  it('runs the prompt chunks as one rectangle, and wants logits only where a prompt is complete', () => {
    const { runner, batches } = bufferedRunner();
    const context = operatorContext(testScheduler(), { runner });
    const whole = runningSequence(context, { prompt: 'abc' });
    const part = runningSequence(context, { prompt: 'defgh', computed: 1 });
    const seen: Computed[] = [];
    of(stepOf(context, [prefillRow(whole, 3), prefillRow(part, 2)]))
      .pipe(prefill()(context))
      .subscribe((step) => seen.push(step));
    expect(batches).toEqual([
      {
        rows: 2,
        width: 3,
        ids: [letters('abc'), letters('ef')],
        positions: [0, 1],
        blockTables: [[0], [1]],
        logitsAt: [2],
      },
    ]);
    expect(logitsOf(seen[0]!)).toEqual([['s0', [10, 11]]]);
  });

  it('runs prompts of very different lengths apart, since padding costs more than a pass', () => {
    const { runner, batches } = bufferedRunner();
    const context = operatorContext(testScheduler(), {
      runner,
      kv: contiguousSlots({ slots: 3 })(toyModel, virtualOptions(testScheduler())),
    });
    const rows = ['ab', 'a'.repeat(20), 'cd'].map((prompt) => prefillRow(runningSequence(context, { prompt })));
    const seen: Computed[] = [];
    of(stepOf(context, rows))
      .pipe(prefill()(context))
      .subscribe((step) => seen.push(step));
    expect(batches.map(({ rows: count, width, logitsAt }) => [count, width, logitsAt])).toEqual([
      [1, 20, [19]],
      [2, 2, [1, 3]],
    ]);
    expect(logitsOf(seen[0]!)).toEqual([
      ['s1', [10, 11]],
      ['s0', [20, 21]],
      ['s2', [22, 23]],
    ]);
  });

  it('keeps its logits when the decode run of the step reuses the buffer', () => {
    const { runner, batches } = bufferedRunner();
    const context = operatorContext(testScheduler(), { runner });
    const prompt = runningSequence(context, { prompt: 'ab' });
    const reply = runningSequence(context, { prompt: 'ab', output: 'c', computed: 2 });
    const seen: Computed[] = [];
    of(stepOf(context, [prefillRow(prompt), decodeRow(reply)]))
      .pipe(prefill()(context), decodeStep()(context))
      .subscribe((step) => seen.push(step));
    expect(batches.map(({ ids, positions }) => ({ ids, positions }))).toEqual([
      { ids: [letters('ab')], positions: [0] },
      { ids: [letters('c')], positions: [2] },
    ]);
    expect(logitsOf(seen[0]!)).toEqual([
      ['s0', [10, 11]],
      ['s1', [20, 21]],
    ]);
  });

  it('runs nothing without prefill rows', () => {
    const { runner, batches } = bufferedRunner();
    const context = operatorContext(testScheduler(), { runner });
    of(emptyStep()).pipe(prefill()(context)).subscribe();
    expect(batches).toEqual([]);
  });
});

describe('decodeStep', () => {
  it.each(['paged', 'contiguous'] as const)('cuts rows of very different length apart where %s', (layout) => {
    const { runner, batches } = bufferedRunner();
    const options = { ...virtualOptions(testScheduler()), maxModelLen: 8000, kvCacheMemoryMiB: 64 };
    const kv = (layout === 'paged' ? pagedBlocks() : contiguousSlots())(toyModel, options);
    const context = operatorContext(testScheduler(), { runner, kv, options });
    const rows = [4, 7000, 5].map((computed) => {
      const sequence = runningSequence(context, { prompt: 'a'.repeat(computed), output: 'd' });
      kv.reserve(sequence, computed);
      sequence.computed = computed;
      return decodeRow(sequence);
    });
    const seen: Computed[] = [];
    of(stepOf(context, rows))
      .pipe(decodeStep()(context))
      .subscribe((step) => seen.push(step));
    const runs = layout === 'paged' ? [[7000], [5, 4]] : [[4, 7000, 5]];
    expect(batches.map(({ positions }) => positions)).toEqual(runs);
    expect(logitsOf(seen[0]!)).toEqual(
      layout === 'paged'
        ? [
            ['s1', [10, 11]],
            ['s2', [20, 21]],
            ['s0', [22, 23]],
          ]
        : [
            ['s0', [10, 11]],
            ['s1', [12, 13]],
            ['s2', [14, 15]],
          ],
    );
  });

  it('leaves out rows that verify has decided', () => {
    const { runner, batches } = bufferedRunner();
    const context = operatorContext(testScheduler(), { runner });
    const decided = runningSequence(context, { output: 'd', computed: 3 });
    const step = { ...stepOf(context, [decodeRow(decided)]), accepted: new Map([[decided.id, [4]]]) };
    const seen: Computed[] = [];
    of(step)
      .pipe(decodeStep()(context))
      .subscribe((computed) => seen.push(computed));
    expect(batches).toEqual([]);
    expect(seen).toEqual([step]);
  });
});

describe.each([
  ['prefill', prefill, (sequence: Sequence) => prefillRow(sequence)],
  ['decodeStep', decodeStep, decodeRow],
])('%s and its forward pass', (_, make, row) => {
  const stage = make() as (context: EngineContext) => (source: Observable<Computed>) => Observable<Computed>;
  const sequenceIn = (context: EngineContext) =>
    make === decodeStep ? runningSequence(context, { output: 'd', computed: 3 }) : runningSequence(context);

  it('emits when the pass is through, and lets the next step wait for it', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const { runner } = bufferedRunner((source) => source.pipe(delay(3, scheduler)));
      const context = operatorContext(scheduler, { runner });
      const step = stepOf(context, [row(sequenceIn(context))]);
      const done = cold('-aa--|', { a: step }).pipe(
        stage(context),
        map(({ logits }) => logits.size),
      );
      expectObservable(done).toBe('----1--(1|)', { 1: 1 });
    });
  });

  it('passes an error of the runner on', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const { runner } = bufferedRunner(() => throwError(() => 'broken'));
      const context = operatorContext(scheduler, { runner });
      const step = stepOf(context, [row(sequenceIn(context))]);
      expectObservable(cold('--a--|', { a: step }).pipe(stage(context))).toBe('--#', {}, 'broken');
    });
  });

  it('unsubscribes from a running pass and from its source', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const pass = cold<Logits>('----(l|)');
      const { runner } = bufferedRunner(() => pass);
      const context = operatorContext(scheduler, { runner });
      const source = hot('-a----', { a: stepOf(context, [row(sequenceIn(context))]) });
      expectObservable(source.pipe(stage(context)), '^--!').toBe('----');
      expectSubscriptions(source.subscriptions).toBe('^--!');
      expectSubscriptions(pass.subscriptions).toBe('-^-!');
    });
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => stage(operatorContext(scheduler)), emptyStep());
  });
});
