import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { emptyStep, operatorContext, prefillRow, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import type { Allocated, Planned } from '../core/contracts/index.ts';
import { allocateBlocks } from './allocate-blocks.ts';

describe('allocateBlocks', () => {
  it('reserves for each row, and preempts the sequence of a row that finds no room', () => {
    const context = operatorContext(testScheduler());
    const sequences = [runningSequence(context), runningSequence(context), runningSequence(context)];
    const seen: Allocated[] = [];
    of<Planned>(emptyStep({ rows: sequences.map((sequence) => prefillRow(sequence)) }))
      .pipe(allocateBlocks()(context))
      .subscribe((step) => seen.push(step));
    const [step] = seen;
    expect(step?.rows.map(({ sequence }) => sequence.id)).toEqual(['s0', 's1']);
    expect(step?.preempted).toEqual([sequences[2]]);
    expect([...step!.reservations].map(([id, { blocks }]) => [id, [...blocks]])).toEqual([
      ['s0', [0]],
      ['s1', [1]],
    ]);
    expect(context.kv.used).toBe(2);
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
