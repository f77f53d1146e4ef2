import { describe, expect, it } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { DraftLengths, type DraftStep } from './draft-length.ts';

/**
 * Steps of a machine on which a plain one takes 10 ms and a drafted token `cost` ms more, with so many of each draft's
 * tokens accepted; another sequence follows after so many steps. The lengths of each step.
 */
function play(steps: number, cost: number, accept: (step: number) => number, follow = Number.POSITIVE_INFINITY) {
  const lengths = new DraftLengths(4);
  let sequence = fakeSequence('a');
  const taken: number[] = [];
  let now = 0;
  for (let index = 0; index < steps; index++) {
    if (index % follow === 0) sequence = fakeSequence(`a${index}`);
    const step: DraftStep = { index, now, hasPrefill: false, decoding: [sequence] };
    const [drafted = 0] = lengths.plan(step);
    lengths.recordDrafted(step, [drafted]);
    const accepted = Math.min(drafted, accept(index));
    if (drafted > 0) lengths.recordAccepted(sequence, Math.min(drafted, accepted + 1), accepted);
    taken.push(drafted);
    now += 10 + cost * drafted;
  }
  return taken;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('DraftLengths', () => {
  it('takes three plain steps first, and one again after 64, and drafts to the full where all is accepted', () => {
    const taken = play(200, 2, () => 4);
    expect(taken.slice(0, 3)).toEqual([0, 0, 0]);
    expect(taken.slice(20, 64)).toEqual(Array(44).fill(4));
    expect(taken.filter((length) => length === 0)).toHaveLength(6);
  });

  it('gives up where nothing is accepted, and looks again ever more rarely', () => {
    const taken = play(600, 3, () => 0);
    const early = taken.slice(40, 140);
    const late = taken.slice(400, 600);
    expect(mean(early.map(Number))).toBeLessThan(0.3);
    expect(mean(late)).toBeLessThan(0.08);
    expect(late.some((length) => length > 0)).toBe(true);
  });

  it('looks as rarely into the next text, until drafts stand again', () => {
    const length = 128;
    const taken = play(8 * length, 3, (step) => (step < 6 * length ? 0 : 4), length);
    const drafted = (from: number, to: number) => taken.slice(from, to).filter((count) => count > 0).length;
    expect(drafted(4 * length, 6 * length)).toBeLessThanOrEqual(4);
    expect(drafted(7 * length, 8 * length)).toBeGreaterThan(100);
  });

  it('notices when drafts are accepted again', () => {
    const taken = play(900, 2, (step) => (step < 300 ? 0 : 4));
    expect(mean(taken.slice(200, 300))).toBeLessThan(0.3);
    expect(mean(taken.slice(800))).toBeGreaterThan(3.5);
  });

  it('drafts less where a drafted token costs more', () => {
    const half = (step: number) => (step % 2 === 0 ? 4 : 1);
    const cheap = mean(play(300, 0.5, half).slice(100));
    const dear = mean(play(300, 4, half).slice(100));
    expect(cheap).toBeGreaterThan(3.5);
    expect(dear).toBeLessThan(cheap);
  });

  it('keeps a length for each sequence', () => {
    const lengths = new DraftLengths(4);
    const [good, bad] = [fakeSequence('good'), fakeSequence('bad')];
    for (let i = 0; i < 30; i++) {
      lengths.recordAccepted(good, 4, 4);
      lengths.recordAccepted(bad, 1, 0);
    }
    const step = (index: number, now: number) => ({ index, now, hasPrefill: false, decoding: [good, bad] });
    for (const index of [4, 5, 6]) {
      expect(lengths.plan(step(index, index * 10))).toEqual([0, 0]);
      lengths.recordDrafted(step(index, index * 10), [0, 0]);
    }
    const [ofGood, ofBad] = lengths.plan(step(7, 70));
    expect(ofGood).toBeGreaterThan(ofBad! + 1);
  });

  it('does not learn from a step beside a prompt, nor from one before a pause', () => {
    const lengths = new DraftLengths(4);
    const decoding = [fakeSequence('a')];
    const step = (index: number, now: number, hasPrefill = false) => ({ index, now, hasPrefill, decoding });
    const plan = (index: number, hasPrefill = false) => {
      const [length] = lengths.plan(step(index, index * 10, hasPrefill));
      lengths.recordDrafted(step(index, index * 10, hasPrefill), [length!]);
      return length;
    };
    // Two of these are measured: steps 1 and 4.
    for (const [index, hasPrefill] of [
      [0, true],
      [1, false],
      [2, true],
      [4, false],
      [5, true],
    ] as const) {
      expect(plan(index, hasPrefill)).toBe(0);
    }
    expect([plan(6), plan(7)]).toEqual([0, expect.any(Number)]);
    expect(plan(8)).toBeGreaterThan(0);
  });
});
