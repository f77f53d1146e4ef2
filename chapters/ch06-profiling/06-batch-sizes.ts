/** Decode climbs the slope as its batch grows: more tokens a second for the same bytes, until something else is the limit. */
import { continuous, int4 } from 'rxllm';
import { measureCeilings, phasePoints, roofsFor } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { decodePasses } from '../support/phases.ts';
import { textTable } from '../support/table.ts';

const SIZES = args.quick ? [1, 2] : [1, 2, 4, 8, 16, 32];
const quick = { copyBytes: 2 ** 22, side: 64, rounds: 2 };
const ceilings = await measureCeilings({ cachedBytes: 63e6, ...(args.quick && quick) });

for (const [recipe, kernel] of [
  [continuous, 'float32'],
  [int4, 'int4'],
] as const) {
  const roofs = roofsFor(ceilings, kernel);
  const rows = [];
  for (const batch of SIZES) {
    const [point] = phasePoints(await decodePasses(recipe, batch, size(48, 4)), roofs);
    const { ms, bytes, intensity, ofMemory, ofCompute } = point!;
    rows.push([
      batch,
      Number(ms.toFixed(2)),
      Math.round((1000 * batch) / ms),
      Number((bytes / batch / 1e6).toFixed(1)),
      Number(intensity.toFixed(1)),
      `${(100 * ofMemory).toFixed(0)}%`,
      `${(100 * ofCompute).toFixed(0)}%`,
    ]);
  }
  console.log(`${recipe.name}\n`);
  const head = ['rows', 'ms a pass', 'tokens/s', 'MB a token', 'FLOPs a byte', 'of bandwidth', 'of peak FLOP/s'];
  console.log(`${textTable(head, rows)}\n`);
}
