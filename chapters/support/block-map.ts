import type { KvAllocator, Sequence } from 'rxllm';
import { colour, FRAME, fixed, PLOT, picture, text } from './svg.ts';

/** Room for `cellTokens` tokens: who has it, and how many are in it. No owner: free. */
export interface Cell {
  readonly owner?: number;
  readonly tokens: number;
}

export interface BlockMap {
  readonly name: string;
  readonly cells: readonly Cell[];
}

const COLUMNS = 16;
const CELL_HEIGHT = 22;
const PANEL_GAP = 44;

/** The pool from its first token to its last, in cells of equal size; one without tokens is reserved, and empty. */
export function blockMap(name: string, { pool }: KvAllocator, sequences: readonly Sequence[], cellTokens: number) {
  const cells: Cell[] = Array.from({ length: (pool.blocks * pool.blockSize) / cellTokens }, () => ({ tokens: 0 }));
  sequences.forEach(({ blocks, computed }, owner) => {
    for (let at = 0; at < blocks.length * pool.blockSize; at += cellTokens) {
      const token = blocks[Math.floor(at / pool.blockSize)]! * pool.blockSize + (at % pool.blockSize);
      cells[token / cellTokens] = { owner, tokens: Math.max(0, Math.min(cellTokens, computed - at)) };
    }
  });
  return { name, cells };
}

const letter = (owner: number) => String.fromCharCode('A'.charCodeAt(0) + owner);

/** `A` full, `a` partly, `-` reserved and empty, `.` free. */
export function blockMapText({ cells }: BlockMap, cellTokens: number): string {
  const signs = cells.map(({ owner, tokens }) => {
    if (owner === undefined) return '.';
    if (tokens === 0) return '-';
    return tokens === cellTokens ? letter(owner) : letter(owner).toLowerCase();
  });
  return signs
    .join('')
    .match(new RegExp(`.{1,${COLUMNS}}`, 'g'))!
    .map((row) => `  ${row}`)
    .join('\n');
}

/** The same memory under several allocators, one above the other, as SVG: a cell is filled as far as it holds tokens. */
export function blockMapPicture(title: string, maps: readonly BlockMap[], cellTokens: number): string {
  const width = PLOT.width / COLUMNS;
  let top = FRAME.top;
  const panels = maps.map(({ name, cells }) => {
    const base = top + 16;
    const drawn = cells.map(({ owner, tokens }, index) => {
      const [x, y] = [FRAME.left + (index % COLUMNS) * width, base + Math.floor(index / COLUMNS) * CELL_HEIGHT];
      const place = `x="${fixed(x + 1)}" y="${fixed(y + 1)}" height="${CELL_HEIGHT - 2}"`;
      const whole = `<rect class="grid" fill="none" ${place} width="${fixed(width - 2)}"/>`;
      if (owner === undefined) return whole;
      const share = (tokens / cellTokens) * (width - 2);
      const fill = `<rect fill="${colour(owner)}" opacity="0.18" ${place} width="${fixed(width - 2)}"/>`;
      const held = share > 0 ? `<rect fill="${colour(owner)}" opacity="0.7" ${place} width="${fixed(share)}"/>` : '';
      return whole + fill + held + text(x + width / 2, y + 16, letter(owner), { 'text-anchor': 'middle' });
    });
    top = base + Math.ceil(cells.length / COLUMNS) * CELL_HEIGHT + PANEL_GAP - 16;
    return text(FRAME.left, base - 6, name) + drawn.join('');
  });
  const key = 'a letter: a sequence · strong: tokens · pale: reserved, and empty · outlined: free';
  return picture(title, [...panels, text(FRAME.left, top - 12, key)], top);
}
