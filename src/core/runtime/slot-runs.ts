import type { ForwardBatch, TokenId } from '../contracts/index.ts';
import { bucketWidth } from './bucket-width.ts';
import type { Rectangle } from './forward-inputs.ts';

/** One run over slots that lie side by side in the contiguous pool. */
export interface SlotRun extends Rectangle {
  readonly firstSlot: number;
  readonly rows: number;
  readonly width: number;
  /** For each of `logitsAt`, its row in the logits of the whole batch. */
  readonly logitsRows: readonly number[];
}

/** Slots without a row that a run may carry along; past that, one more run costs less. */
const LONGEST_GAP = 4;

const DUMMY: readonly TokenId[] = [0];

/**
 * Cuts a batch into runs that GroupQueryAttention takes over contiguous memory: a row of several tokens runs alone at
 * its slot, and rows of one token run together over the span of their slots.
 *
 * A slot in such a span that has no row, or a row without tokens, gets a dummy token, and it may hold a sequence that is paused or in prefill.
 * Invariant: a dummy writes at `lengths[slot]`, one past everything the slot's sequence has computed, so no key that is
 * still needed is lost; and the sequence's own next pass writes that position before anything reads it, since a pass
 * starts at or before it. Of a full slot the last position is rewritten: its sequence could only run again from there or
 * from before it, and would write it first, too.
 *
 * The runs are to be made in the order given. `lengths [slots]`: tokens computed a slot, kept up to date here.
 */
export function slotRuns(batch: ForwardBatch, lengths: number[], slotSize: number): SlotRun[] {
  const slotOf = (row: number) => batch.blockTables[row]![0]!;
  const runs: SlotRun[] = [];
  /** Rows of one token, and those of none: padding, which makes a span wider. */
  const single: number[] = [];
  for (let row = 0; row < batch.rows; row++) {
    const { length } = batch.ids[row]!;
    if (length > 1) runs.push(rowRun(batch, row, slotSize));
    else single.push(row);
    if (length === 0) continue;
    // Before the spans are made: their dummies come after what the rows above have written.
    lengths[slotOf(row)] = batch.positions[row]! + length;
  }
  single.sort((a, b) => slotOf(a) - slotOf(b));
  for (let from = 0; from < single.length; ) {
    let to = from + 1;
    while (to < single.length && slotOf(single[to]!) - slotOf(single[to - 1]!) <= LONGEST_GAP + 1) to++;
    const span = single.slice(from, to);
    if (span.some((row) => batch.ids[row]!.length > 0)) runs.push(spanRun(batch, span, lengths, slotSize));
    from = to;
  }
  return runs;
}

/**
 * A row of several tokens is made as wide as its bucket, if its slot has the room. Beside having few shapes, that keeps
 * its bits the same however a prompt is cut: GroupQueryAttention takes queries in tiles of an even number, and multiplies
 * a tile of one by another kernel, which rounds otherwise; in an even width no token is alone in its tile.
 */
function rowRun(batch: ForwardBatch, row: number, slotSize: number): SlotRun {
  const firstFlat = row * batch.width;
  const logitsAt: number[] = [];
  const logitsRows: number[] = [];
  batch.logitsAt.forEach((index, i) => {
    if (index < firstFlat || index >= firstFlat + batch.width) return;
    logitsAt.push(index - firstFlat);
    logitsRows.push(i);
  });
  const tokens = batch.ids[row]!;
  const position = batch.positions[row]!;
  const width = Math.min(bucketWidth(tokens.length), slotSize - position);
  const dummies = width - tokens.length;
  const ids = dummies > 0 ? [...tokens, ...Array<TokenId>(dummies).fill(0)] : tokens;
  return {
    firstSlot: batch.blockTables[row]![0]!,
    rows: 1,
    width,
    ids: [ids],
    positions: [position],
    blockTables: [],
    logitsAt,
    logitsRows,
  };
}

/** `rowsBySlot`: rows of one token or none, in ascending order of their slots. */
function spanRun(
  batch: ForwardBatch,
  rowsBySlot: readonly number[],
  lengths: readonly number[],
  slotSize: number,
): SlotRun {
  const slotOf = (row: number) => batch.blockTables[row]![0]!;
  const firstSlot = slotOf(rowsBySlot[0]!);
  const rows = slotOf(rowsBySlot.at(-1)!) - firstSlot + 1;
  const ids: (readonly TokenId[])[] = Array(rows).fill(DUMMY);
  const positions = Array.from({ length: rows }, (_, i) => Math.min(lengths[firstSlot + i]!, slotSize - 1));
  const spanRowOf = new Map<number, number>();
  for (const row of rowsBySlot) {
    if (batch.ids[row]!.length === 0) continue;
    const spanRow = slotOf(row) - firstSlot;
    spanRowOf.set(row, spanRow);
    ids[spanRow] = batch.ids[row]!;
    positions[spanRow] = batch.positions[row]!;
  }
  const logitsAt: number[] = [];
  const logitsRows: number[] = [];
  batch.logitsAt.forEach((index, i) => {
    const spanRow = spanRowOf.get(Math.floor(index / batch.width));
    if (spanRow === undefined) return;
    logitsAt.push(spanRow);
    logitsRows.push(i);
  });
  return { firstSlot, rows, width: 1, ids, positions, blockTables: [], logitsAt, logitsRows };
}
