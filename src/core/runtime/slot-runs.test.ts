import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../test/support/greedy.ts';
import { slotRuns } from './slot-runs.ts';

const row = (slot: number, start: number, ids: number[]) => ({ blocks: [slot], start, ids });
const SLOT_SIZE = 10;

describe('slotRuns', () => {
  it('runs rows of several tokens alone, then rows of one token together in the order of their slots', () => {
    const lengths = [3, 0, 4, 0];
    const batch = batchOf([row(2, 4, [8]), row(1, 0, [5, 6, 7]), row(0, 3, [9])]);
    expect(slotRuns(batch, lengths, SLOT_SIZE)).toMatchObject([
      { firstSlot: 1, rows: 1, width: 4, ids: [[5, 6, 7, 0]], positions: [0], logitsAt: [2], logitsRows: [1] },
      // Slot 1 is carried along with a dummy, past what the run before has just written.
      {
        firstSlot: 0,
        rows: 3,
        width: 1,
        ids: [[9], [0], [8]],
        positions: [3, 3, 4],
        logitsAt: [2, 0],
        logitsRows: [0, 2],
      },
    ]);
    expect(lengths).toEqual([4, 3, 5, 0]);
  });

  it('makes a row as wide as its bucket, where the slot has room', () => {
    const runs = slotRuns(
      batchOf([row(0, 0, [1, 2]), row(1, 6, [3, 4, 5]), row(2, 7, [6, 7, 8])]),
      [0, 6, 7],
      SLOT_SIZE,
    );
    expect(runs.map(({ ids }) => ids)).toEqual([[[1, 2]], [[3, 4, 5, 0]], [[6, 7, 8]]]);
  });

  it('cuts where slots lie far apart', () => {
    const lengths = Array(20).fill(2);
    const runs = slotRuns(batchOf([row(0, 2, [1]), row(5, 2, [2]), row(11, 2, [3])]), lengths, SLOT_SIZE);
    expect(runs.map(({ firstSlot, rows, logitsRows }) => ({ firstSlot, rows, logitsRows }))).toEqual([
      { firstSlot: 0, rows: 6, logitsRows: [0, 1] },
      { firstSlot: 11, rows: 1, logitsRows: [2] },
    ]);
  });

  it('carries rows without tokens along as dummies, but never alone', () => {
    const lengths = [2, 5, 3, 4];
    const batch = { ...batchOf([row(0, 0, []), row(1, 5, [7]), row(3, 0, [])]), logitsAt: [1] };
    expect(slotRuns(batch, lengths, SLOT_SIZE)).toMatchObject([
      { firstSlot: 0, rows: 4, ids: [[0], [7], [0], [0]], positions: [2, 5, 3, 4], logitsAt: [1], logitsRows: [0] },
    ]);
    expect(lengths).toEqual([2, 6, 3, 4]);
    expect(slotRuns(batchOf([row(0, 0, [])]), lengths, SLOT_SIZE)).toEqual([]);
  });

  it('rewrites the last position of a full slot, never past it', () => {
    const lengths = [2, SLOT_SIZE, 2];
    const [run] = slotRuns(batchOf([row(0, 2, [1]), row(2, 2, [2])]), lengths, SLOT_SIZE);
    expect(run!.positions).toEqual([2, SLOT_SIZE - 1, 2]);
    expect(lengths[1]).toBe(SLOT_SIZE);
  });

  it('keeps the wanted logits of each row apart', () => {
    const batch = { ...batchOf([row(0, 0, [1, 2, 3]), row(1, 0, [4, 5])]), logitsAt: [1, 2, 3] };
    expect(slotRuns(batch, [0, 0], SLOT_SIZE)).toMatchObject([
      { logitsAt: [1, 2], logitsRows: [0, 1] },
      { logitsAt: [0], logitsRows: [2] },
    ]);
  });
});
