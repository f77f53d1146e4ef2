/** The rule on six tokens: what is drawn from the small model, and then kept or replaced, is distributed as the large one. */
import { acceptOrReplace } from 'rxllm';
import { size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { P, Q, rest, TOKENS } from './example.ts';

const DRAWS = size(200_000, 2_000);

function draw(probabilities: readonly number[]): number {
  let left = Math.random();
  for (const [id, probability] of probabilities.entries()) {
    left -= probability;
    if (left < 0) return id;
  }
  return probabilities.length - 1;
}

const drafted = { ids: Int32Array.from(Q, (_, id) => id), probabilities: Float64Array.from(Q) };
const counts = P.map(() => 0);
let stood = 0;
for (let i = 0; i < DRAWS; i++) {
  const token = draw(Q);
  const target = {
    ids: Int32Array.from(P, (_, id) => id),
    weights: Float64Array.from(P),
    count: P.length,
    total: 1,
    scratch: new Int32Array(P.length),
  };
  const chosen = acceptOrReplace(target, token, drafted, Math.random);
  if (chosen === token) stood += 1;
  counts[chosen]! += 1;
}

const fixed = (value: number) => Number(value.toFixed(3));
const rows = TOKENS.map((token, id) => [
  token,
  fixed(Q[id]!),
  fixed(P[id]!),
  fixed(Math.min(1, P[id]! / Q[id]!)),
  fixed(rest[id]!),
  fixed(counts[id]! / DRAWS),
]);
console.log(textTable(['token', 'q: draft', 'p: target', 'stands with', 'if one fell', 'came out'], rows));
const expected = P.reduce((sum, p, id) => sum + Math.min(p, Q[id]!), 0);
console.log(`\n${fixed(stood / DRAWS)} of the drafts stood; the sum of min(p, q) is ${fixed(expected)}`);
