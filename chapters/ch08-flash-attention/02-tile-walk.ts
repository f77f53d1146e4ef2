/** Attention by tiles in plain TypeScript: the same numbers as with the whole matrix, and a scratch that stays as it is. */
import { size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const HEAD_DIM = 8;
const [QUERY_TILE, KEY_TILE] = [16, 32];
type Matrix = Float64Array[];

let state = 1;
const noise = () => {
  state = (state * 48_271) % 2_147_483_647;
  return (state / 2_147_483_647 - 0.5) * 4;
};
const matrix = (rows: number): Matrix =>
  Array.from({ length: rows }, () => Float64Array.from({ length: HEAD_DIM }, noise));
const score = (q: Float64Array, k: Float64Array) => q.reduce((sum, x, i) => sum + x * k[i]!, 0) / Math.sqrt(HEAD_DIM);
/** `into` plus factor times v, in place. */
function add(into: Float64Array, factor: number, v: Float64Array): void {
  for (let i = 0; i < HEAD_DIM; i++) into[i]! += factor * v[i]!;
}

/** Every score first; then softmax; then the mean. Scratch: a number for each pair of tokens. */
function naive(q: Matrix, k: Matrix, v: Matrix): Matrix {
  const scores = q.map((query, at) => k.map((key, j) => (j <= at ? score(query, key) : Number.NEGATIVE_INFINITY)));
  return scores.map((row) => {
    const max = Math.max(...row);
    const powers = row.map((x) => Math.exp(x - max));
    const sum = powers.reduce((total, power) => total + power, 0);
    const mean = new Float64Array(HEAD_DIM);
    for (const [j, power] of powers.entries()) add(mean, power / sum, v[j]!);
    return mean;
  });
}

/** A tile of queries walks over tiles of keys, to the last that it may see. Scratch: a tile of scores, and what is kept. */
function flash(q: Matrix, k: Matrix, v: Matrix): { readonly mixed: Matrix; readonly tiles: number } {
  const mixed: Matrix = [];
  let tiles = 0;
  for (let first = 0; first < q.length; first += QUERY_TILE) {
    const last = Math.min(first + QUERY_TILE, q.length) - 1;
    const queries = q.slice(first, last + 1);
    const kept = queries.map(() => ({ max: -1e9, sum: 0, weighted: new Float64Array(HEAD_DIM) }));
    for (let from = 0; from <= last; from += KEY_TILE) {
      tiles++;
      queries.forEach((query, row) => {
        const seen = Math.min(from + KEY_TILE, first + row + 1) - from;
        if (seen <= 0) return;
        const scores = k.slice(from, from + seen).map((key) => score(query, key));
        const of = kept[row]!;
        const max = Math.max(of.max, ...scores);
        const rescale = Math.exp(of.max - max);
        const powers = scores.map((x) => Math.exp(x - max));
        of.max = max;
        of.sum = of.sum * rescale + powers.reduce((total, power) => total + power, 0);
        of.weighted = of.weighted.map((x) => x * rescale);
        for (const [j, power] of powers.entries()) add(of.weighted, power, v[from + j]!);
      });
    }
    for (const { sum, weighted } of kept) mixed.push(weighted.map((x) => x / sum));
  }
  return { mixed, tiles };
}

const rows = [64, 100, 256, 500].slice(0, size(4, 2)).map((tokens) => {
  const [q, k, v] = [matrix(tokens), matrix(tokens), matrix(tokens)];
  const { mixed, tiles } = flash(q, k, v);
  const whole = naive(q, k, v);
  const difference = Math.max(...mixed.map((row, at) => Math.max(...row.map((x, i) => Math.abs(x - whole[at]![i]!)))));
  const all = Math.ceil(tokens / QUERY_TILE) * Math.ceil(tokens / KEY_TILE);
  const scratch = QUERY_TILE * (KEY_TILE + 2 + HEAD_DIM);
  return [tokens, tokens ** 2, scratch, `${tiles} of ${all}`, difference < 1e-12 ? 'below 1e-12' : difference];
});
console.log(`Tiles of ${QUERY_TILE} queries × ${KEY_TILE} keys; the numbers that each way has in its hands:\n`);
console.log(textTable(['tokens', 'naive', 'flash', 'tiles walked', 'largest difference'], rows));
console.log(
  '\nTiles above the diagonal hold nothing that a query may see, and are not walked: in the end half of them.',
);
