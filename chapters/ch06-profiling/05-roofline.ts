/** Both phases of one engine under this machine's roofs: prefill at several lengths, decode a row at a time, as a picture. */
import { continuous, loadModel } from 'rxllm';
import { measureCeilings, phasePoints, rooflineText, roofsFor } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { decodePasses, prefillPasses } from '../support/phases.ts';
import { textTable } from '../support/table.ts';

const LENGTHS = args.quick ? [4, 16] : [4, 16, 64, 256];
const quick = { copyBytes: 2 ** 22, side: 64, rounds: 2 };
const ceilings = await measureCeilings({ cachedBytes: 63e6, ...(args.quick && quick) });
const roofs = roofsFor(ceilings, 'float32');

const prefill = [];
for (const tokens of LENGTHS) {
  const [point] = phasePoints(await prefillPasses(continuous, tokens, size(8, 2)), roofs);
  prefill.push({ ...point!, label: String(tokens) });
}
const [step] = phasePoints(await decodePasses(continuous, 1, size(64, 4)), roofs);
const decode = [{ ...step!, label: '1' }];

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const rows = [...prefill, ...decode].map((point) => [
  `${point.phase} of ${point.label}`,
  Number(point.ms.toFixed(2)),
  Number(point.intensity.toFixed(1)),
  percent(point.ofCompute),
  percent(point.ofMemory),
  point.bound,
]);
console.log(textTable(['pass', 'ms', 'FLOPs a byte', 'of peak FLOP/s', 'of bandwidth', 'bound by'], rows));
const series = [
  { name: 'prefill, by tokens', points: prefill },
  { name: 'decode, by rows', points: decode },
];
const { name } = await loadModel(args.model);
console.log(`\n${rooflineText({ title: name, roofs, series })}`);
