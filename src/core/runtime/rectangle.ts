import type { BlockId, ForwardBatch, TokenId } from '../contracts/index.ts';

export interface RectangleRow {
  readonly ids: readonly TokenId[];
  readonly position: number;
  readonly blocks: readonly BlockId[];
  /** Of so many of its last tokens the logits are wanted. */
  readonly wanted: number;
}

/** Rows of any width as one batch, as wide as the widest. */
export function toRectangle(rows: readonly RectangleRow[]): ForwardBatch {
  const width = Math.max(...rows.map(({ ids }) => ids.length));
  const logitsAt: number[] = [];
  for (const [row, { ids, wanted }] of rows.entries()) {
    for (let column = ids.length - wanted; column < ids.length; column++) logitsAt.push(row * width + column);
  }
  return {
    rows: rows.length,
    width,
    ids: rows.map(({ ids }) => ids),
    positions: rows.map(({ position }) => position),
    blockTables: rows.map(({ blocks }) => blocks),
    logitsAt,
  };
}
