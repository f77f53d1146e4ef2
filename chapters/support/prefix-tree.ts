import type { BlockId, Sequence, TokenId } from 'rxllm';
import { colour, FRAME, fixed, picture, text } from './svg.ts';

/** A block in use, the tokens in it, and who holds it. */
export interface TreeBlock {
  readonly block: BlockId;
  readonly tokens: readonly TokenId[];
  readonly holders: string[];
  readonly next: TreeBlock[];
}

/** Sequences' block tables laid over each other: what they share is one path until they part. */
export function prefixTree(sequences: readonly Sequence[], blockSize: number): TreeBlock[] {
  const roots: TreeBlock[] = [];
  for (const { id, blocks, tokens } of sequences) {
    let siblings = roots;
    for (const [i, block] of blocks.entries()) {
      let node = siblings.find((each) => each.block === block);
      if (node === undefined) {
        node = { block, tokens: tokens.slice(i * blockSize, (i + 1) * blockSize), holders: [], next: [] };
        siblings.push(node);
      }
      node.holders.push(id);
      siblings = node.next;
    }
  }
  return roots;
}

type Words = (tokens: readonly TokenId[]) => string;

/** A line a block, indented under the one before it. */
export function treeText(roots: readonly TreeBlock[], words: Words, indent = '  '): string {
  return roots
    .map(({ block, tokens, holders, next }) => {
      const line = `${indent}${block}: ${JSON.stringify(words(tokens))}  held by ${holders.join(' ')}`;
      return next.length === 0 ? line : `${line}\n${treeText(next, words, `${indent}   `)}`;
    })
    .join('\n');
}

const BOX = { width: 124, height: 40, gapX: 24, gapY: 12, left: 12 } as const;

/** From left to right, a row for each sequence's end, as SVG. What several hold is strong. */
export function treePicture(title: string, roots: readonly TreeBlock[], words: Words): string {
  const drawn: string[] = [];
  let leaves = 0;
  /** The height of the middle of the node. */
  const draw = ({ block, tokens, holders, next }: TreeBlock, depth: number): number => {
    const below = next.map((each) => draw(each, depth + 1));
    const middle =
      below.length > 0
        ? (below[0]! + below.at(-1)!) / 2
        : FRAME.top + BOX.height / 2 + leaves++ * (BOX.height + BOX.gapY);
    const x = BOX.left + depth * (BOX.width + BOX.gapX);
    const y = middle - BOX.height / 2;
    const isShared = holders.length > 1;
    const paint = `fill="${colour(isShared ? 0 : 2)}" opacity="${isShared ? 0.4 : 0.18}"`;
    drawn.push(
      `<rect ${paint} x="${x}" y="${fixed(y)}" width="${BOX.width}" height="${BOX.height}" rx="4"/>`,
      text(x + 6, y + 16, words(tokens).trim(), { style: 'font-size:12px' }),
      text(x + 6, y + 33, `block ${block} · ${isShared ? `held by ${holders.length}` : holders[0]}`, {
        style: 'font-size:11px;opacity:0.8',
      }),
    );
    for (const each of below) {
      const [from, to] = [x + BOX.width, x + BOX.width + BOX.gapX];
      const bend = `M${from} ${fixed(middle)}C${from + 12} ${fixed(middle)} ${to - 12} ${fixed(each)} ${to} ${fixed(each)}`;
      drawn.push(`<path class="grid" fill="none" d="${bend}"/>`);
    }
    return middle;
  };
  for (const root of roots) draw(root, 0);
  return picture(title, drawn, FRAME.top + leaves * (BOX.height + BOX.gapY));
}
