import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { Detokenized, IncrementalDecoder, Sampled, Sequence } from '../core/contracts/index.ts';
import { detokenize } from './detokenize.ts';

function piecesOf(sequence: Sequence, ids: readonly number[]): readonly string[] | undefined {
  const seen: Detokenized[] = [];
  of<Sampled>(emptyStep({ rows: [decodeRow(sequence)], produced: new Map([[sequence.id, ids]]) }))
    .pipe(detokenize()(operatorContext(testScheduler())))
    .subscribe((step) => seen.push(step));
  return seen[0]?.text.get(sequence.id);
}

describe('detokenize', () => {
  it('gives a piece a token', () => {
    const sequence = runningSequence(operatorContext(testScheduler()));
    expect(piecesOf(sequence, letters('xyz'))).toEqual(['x', 'y', 'z']);
  });

  it('gives no text for the stop token that the request named', () => {
    const sequence = runningSequence(operatorContext(testScheduler()), { params: { stopTokenIds: letters('y') } });
    expect(piecesOf(sequence, letters('xy'))).toEqual(['x', '']);
  });

  it('holds half a character over to the next step', () => {
    const pieces = ['', 'é'];
    const decoder: IncrementalDecoder = { push: () => pieces.shift() ?? '', flush: () => '' };
    const sequence = { ...runningSequence(operatorContext(testScheduler())), decoder };
    expect(piecesOf(sequence, [3])).toEqual(['']);
    expect(piecesOf(sequence, [4])).toEqual(['é']);
  });

  it('turns a decoder that throws into an error', () => {
    const decoder: IncrementalDecoder = {
      push: () => {
        throw new Error('no piece');
      },
      flush: () => '',
    };
    const sequence = { ...runningSequence(operatorContext(testScheduler())), decoder };
    const errors: unknown[] = [];
    of<Sampled>(emptyStep({ rows: [decodeRow(sequence)], produced: new Map([[sequence.id, [3]]]) }))
      .pipe(detokenize()(operatorContext(testScheduler())))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toEqual([new Error('no piece')]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => detokenize()(operatorContext(scheduler)), emptyStep());
  });
});
