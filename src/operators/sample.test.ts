import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { anyToken, slowed } from '../../test/support/slow-matcher.ts';
import type { Computed, EngineContext, Sampled, Sequence } from '../core/contracts/index.ts';
import { sample } from './sample.ts';

const peak = (id: number) => Float32Array.from({ length: 32 }, (_, i) => (i === id ? 5 : 0));

function run(context: EngineContext, step: Computed): Sampled {
  const seen: Sampled[] = [];
  of(step)
    .pipe(sample()(context))
    .subscribe((sampled) => seen.push(sampled));
  return seen[0]!;
}

const stepOf = (...rows: readonly (readonly [Sequence, Float32Array | undefined])[]) =>
  emptyStep({
    rows: rows.map(([sequence]) => decodeRow(sequence)),
    logits: new Map(rows.flatMap(([{ id }, logits]) => (logits ? [[id, logits]] : []))),
  });

describe('sample', () => {
  it('chooses a token for each row with logits', () => {
    const context = operatorContext(testScheduler());
    const [first, chunk, third] = [runningSequence(context), runningSequence(context), runningSequence(context)];
    const { produced, logprobs } = run(context, stepOf([first, peak(7)], [chunk, undefined], [third, peak(9)]));
    expect([...produced]).toEqual([
      ['s0', [7]],
      ['s2', [9]],
    ]);
    expect(logprobs.size).toBe(0);
  });

  it('leaves alone what verify has accepted, and what was cancelled meanwhile', () => {
    const context = operatorContext(testScheduler());
    const [verified, cancelled] = [runningSequence(context), runningSequence(context)];
    cancelled.phase = 'cancelled';
    const step = { ...stepOf([verified, undefined], [cancelled, peak(3)]), accepted: new Map([['s0', [4, 5]]]) };
    expect([...run(context, step).produced]).toEqual([['s0', [4, 5]]]);
  });

  it('gives log probabilities to those who ask', () => {
    const context = operatorContext(testScheduler());
    const sequence = runningSequence(context, { params: { logprobs: 1 } });
    const [likelihood] = run(context, stepOf([sequence, peak(7)])).logprobs.get('s0') ?? [];
    const logprob = 5 - Math.log(Math.exp(5) + 31);
    expect(likelihood?.id).toBe(7);
    expect(likelihood?.logprob).toBeCloseTo(logprob, 6);
    expect(likelihood?.top).toEqual([{ id: 7, logprob: likelihood?.logprob }]);
  });

  it('keeps a generator per request, so that neighbours do not change what a seed gives', () => {
    const flat = () => new Float32Array(32);
    const draw = (neighbours: number) => {
      const context = operatorContext(testScheduler());
      const operator = sample()(context);
      const sequence = runningSequence(context, { params: { temperature: 1, seed: 11 } });
      const others = Array.from({ length: neighbours }, () => runningSequence(context, { params: { temperature: 1 } }));
      const ids: number[] = [];
      for (let i = 0; i < 8; i++) {
        of(stepOf(...[...others, sequence].map((row) => [row, flat()] as const)))
          .pipe(operator)
          .subscribe(({ produced }) => ids.push(...(produced.get(sequence.id) ?? [])));
        sequence.tokens.push(ids.at(-1)!);
      }
      return ids;
    };
    expect(draw(0)).toEqual(draw(3));
    expect(new Set(draw(0)).size).toBeGreaterThan(1);
  });

  it('keeps the failure of one row from its neighbours', () => {
    const context = operatorContext(testScheduler());
    const [sick, well] = [runningSequence(context), runningSequence(context)];
    const { produced, failed } = run(context, stepOf([sick, new Float32Array(32).fill(Number.NaN)], [well, peak(3)]));
    expect([...produced]).toEqual([['s1', [3]]]);
    expect([...failed]).toEqual([['s0', expect.objectContaining({ code: 'RXLLM_RUNTIME_FAILED' })]]);
  });

  it('chooses none for a row whose mask is late, and tells of it', () => {
    const scheduler = testScheduler();
    const context = operatorContext(scheduler);
    const slow = { ...runningSequence(context), grammar: slowed(anyToken(), 50, scheduler) };
    const other = runningSequence(context);
    let sampled: Sampled | undefined;
    scheduler.run(() => {
      of(stepOf([slow, peak(3)], [other, peak(4)]))
        .pipe(sample()(context))
        .subscribe((step) => {
          sampled = step;
          slow.grammar.dispose();
        });
    });
    expect([...sampled!.produced]).toEqual([[other.id, [4]]]);
    expect([...sampled!.late]).toEqual([slow.id]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => sample()(operatorContext(scheduler)), emptyStep());
  });
});
