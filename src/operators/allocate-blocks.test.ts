import { of } from 'rxjs';
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
import { toyModel } from '../../test/support/toy-model.ts';
import type { Allocated, EngineContext, Planned } from '../core/contracts/index.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { allocateBlocks } from './allocate-blocks.ts';

/** That many blocks of one token each, the trash block not counted. */
const blocks = (count: number) =>
  pagedBlocks({ blockSize: 1, blocks: count + 1 })(toyModel, virtualOptions(testScheduler()));

function run(context: EngineContext, planned: Partial<Planned>, slot = allocateBlocks()): Allocated {
  const seen: Allocated[] = [];
  of<Planned>(emptyStep(planned))
    .pipe(slot(context))
    .subscribe((step) => seen.push(step));
  return seen[0]!;
}

describe('allocateBlocks', () => {
  it('reserves for each row, and lets one that was just admitted and finds no room wait on', () => {
    const context = operatorContext(testScheduler());
    const sequences = [runningSequence(context), runningSequence(context), runningSequence(context)];
    const step = run(context, { rows: sequences.map((sequence) => prefillRow(sequence)) });
    expect(step.rows.map(({ sequence }) => sequence.id)).toEqual(['s0', 's1']);
    expect(step).toMatchObject({ deferred: [sequences[2]], preempted: [] });
    expect([...step.reservations].map(([id, { blocks }]) => [id, [...blocks]])).toEqual([
      ['s0', [0]],
      ['s1', [1]],
    ]);
    expect(context.kv.used).toBe(2);
  });

  it('lets nobody overtake one that found no room', () => {
    const context = operatorContext(testScheduler(), { kv: blocks(6) });
    const holder = runningSequence(context, { prompt: 'ab' });
    run(context, { rows: [prefillRow(holder)] });
    const [long, short] = [runningSequence(context, { prompt: 'abcde' }), runningSequence(context, { prompt: 'a' })];
    expect(run(context, { rows: [prefillRow(long), prefillRow(short)] })).toMatchObject({
      rows: [],
      deferred: [long, short],
    });
  });

  it('preempts the newest until a running row has room', () => {
    const context = operatorContext(testScheduler(), { kv: blocks(6) });
    const [oldest, middle, newest] = [0, 1, 2].map(() => runningSequence(context, { prompt: 'ab' }));
    run(context, { rows: context.running.map((sequence) => prefillRow(sequence)) });
    oldest!.computed = 2;
    const step = run(context, { rows: [{ sequence: oldest!, kind: 'prefill', newTokens: 3 }, decodeRow(newest!)] });
    expect(step.preempted).toEqual([newest, middle]);
    expect(step.rows.map(({ sequence }) => sequence)).toEqual([oldest]);
    expect(newest).toMatchObject({ computed: 0, blocks: [] });
  });

  it('preempts the row itself when it is the last in order', () => {
    const context = operatorContext(testScheduler(), { kv: blocks(4) });
    const [oldest, newest] = [0, 1].map(() => runningSequence(context, { prompt: 'ab' }));
    run(context, { rows: context.running.map((sequence) => prefillRow(sequence)) });
    newest!.computed = 2;
    expect(run(context, { rows: [decodeRow(newest!)] })).toMatchObject({ rows: [], preempted: [newest], deferred: [] });
    expect(oldest?.blocks.length).toBe(2);
  });

  it('takes from the lowest priority, and first from one whose reader is behind', () => {
    const context = operatorContext(testScheduler(), { kv: blocks(6) });
    const [important, unimportant, behind] = [1, 2, 0].map((priority) =>
      runningSequence(context, { prompt: 'ab', priority }),
    );
    run(context, { rows: context.running.map((sequence) => prefillRow(sequence)) });
    behind!.phase = 'paused';
    important!.computed = 2;
    const rows = [{ sequence: important!, kind: 'prefill' as const, newTokens: 3 }];
    expect(run(context, { rows }, allocateBlocks({ policy: 'priority' })).preempted).toEqual([behind, unimportant]);
  });

  it('turns an allocator that throws into an error', () => {
    const context = operatorContext(testScheduler());
    const sequence = runningSequence(context);
    const errors: unknown[] = [];
    of<Planned>(emptyStep({ rows: [prefillRow(sequence, 65)] }))
      .pipe(allocateBlocks()(context))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toEqual([expect.objectContaining({ code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED' })]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => allocateBlocks()(operatorContext(scheduler)), emptyStep());
  });
});
