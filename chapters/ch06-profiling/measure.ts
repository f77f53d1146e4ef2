/** Stage times against the wall clock, ops, ceilings, and both phases under the roofs as pictures. About a minute. */
import { writeFileSync } from 'node:fs';
import { continuous, type EngineOptions, int4, kvCache, loadModel, paged, type StagedRecipe } from 'rxllm';
import {
  KERNELS,
  measureCeilings,
  median,
  opRun,
  type PhasePoint,
  phasePoints,
  rooflineChart,
  roofsFor,
  type StageRun,
} from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { writeMeasured } from '../support/measured.ts';
import { decodePasses, optionsFor, prefillPasses, requestsFor, runsOf } from '../support/phases.ts';
import { markdownTable } from '../support/table.ts';

const model = await loadModel(args.model);
const LOAD = { batch: 8, promptTokens: size(128, 16), maxTokens: size(64, 4) };
const percent = (share: number, digits = 1) => `${(100 * share).toFixed(digits)}%`;
const giga = (value: number) => (value / 1e9).toFixed(1);

/** Which lines of a run belong to what a reader asks for. */
const GROUPS: Readonly<Record<string, (stage: string, within: string | undefined) => boolean>> = {
  'forward passes': (stage) => stage === 'forward pass',
  sampling: (stage) => stage === 'sample',
  'other stages': (stage) => !['forward pass', 'sample', 'deliver', 'between steps', 'asleep'].includes(stage),
  'readers, event loop': (stage) => ['deliver', 'between steps', 'asleep'].includes(stage),
};
const selfOf = ({ stages }: StageRun, group: (stage: string, within: string | undefined) => boolean) =>
  stages.filter(({ stage, within }) => group(stage, within)).reduce((sum, { selfMs }) => sum + selfMs, 0);

const stageRows: string[][] = [];
for (const recipe of [kvCache, continuous, paged, int4]) {
  const runs = await runsOf(recipe, LOAD, size(7, 2));
  const share = (group: (stage: string, within: string | undefined) => boolean) =>
    runs.map((run) => selfOf(run, group) / run.wallMs);
  const sums = share(() => true);
  stageRows.push([
    `\`${recipe.name}\``,
    median(runs.map(({ wallMs }) => wallMs)).toFixed(0),
    ...Object.values(GROUPS).map((group) => percent(median(share(group)))),
    `${percent(median(sums), 2)} (${percent(Math.min(...sums), 2)} to ${percent(Math.max(...sums), 2)})`,
  ]);
}
const stageTable = markdownTable(
  ['engine', 'wall ms', ...Object.keys(GROUPS), 'sum of wall (least to most)'],
  stageRows,
);

const options: Partial<EngineOptions> = optionsFor(LOAD);
const opRows: string[][] = [];
for (const recipe of [continuous, paged, int4]) {
  const requests = [requestsFor(LOAD), requestsFor(LOAD, 1)] as const;
  const times = await opRun(recipe, model, requests, { options, promptTokens: LOAD.promptTokens, by: 'op' });
  for (const [phase, { runs, totalMs, ops }] of times) {
    const first = ops.slice(0, 4).map((op) => `${op.name} ${percent(op.totalMs / totalMs, 0)}`);
    const between = 1 - ops.reduce((sum, op) => sum + op.totalMs, 0) / totalMs;
    const cells = [phase, (totalMs / runs).toFixed(2), first.join(', '), percent(between, 0)];
    opRows.push([`\`${recipe.name}\``, ...cells]);
  }
}
const opTable = markdownTable(['engine', 'phase', 'ms a run', 'ops', 'between ops'], opRows);

const quick = { copyBytes: 2 ** 22, side: 64, rounds: 2 };
const ceilings = await measureCeilings({ cachedBytes: 63e6, ...(args.quick && quick) });
const peaks = KERNELS.map((kernel) => `${kernel} ${giga(ceilings.flops[kernel])}`).join(', ');

const LENGTHS = args.quick ? [4, 16] : [4, 16, 64, 256];
const BATCHES = args.quick ? [1, 2] : [1, 2, 4, 8, 16, 32];
const tables: string[] = [];
for (const [recipe, kernel] of [
  [continuous, 'float32'],
  [int4, 'int4'],
] as const) {
  const { prefill, decode } = await pointsOf(recipe, kernel);
  tables.push(pointTable(recipe.name, [...prefill, ...decode]));
  if (args.quick) continue;
  const svg = rooflineChart({
    title: `${kernel}: prefill and decode of ${model.name} under this machine’s roofs`,
    roofs: roofsFor(ceilings, kernel),
    cachedBytesPerS: ceilings.cached,
    series: [
      { name: 'prefill, by tokens of the prompt', points: prefill },
      { name: 'decode, by rows of the batch', points: decode },
    ],
  });
  writeFileSync(new URL(`roofline-${kernel}.svg`, import.meta.url), svg);
}

type Labelled = PhasePoint & { readonly label: string };

async function pointsOf(recipe: StagedRecipe, kernel: (typeof KERNELS)[number]) {
  const roofs = roofsFor(ceilings, kernel);
  const prefill: Labelled[] = [];
  for (const tokens of LENGTHS) {
    const [point] = phasePoints(await prefillPasses(recipe, tokens, size(8, 2)), roofs);
    prefill.push({ ...point!, label: String(tokens) });
  }
  const decode: Labelled[] = [];
  for (const batch of BATCHES) {
    const [point] = phasePoints(await decodePasses(recipe, batch, size(48, 4)), roofs);
    decode.push({ ...point!, label: String(batch) });
  }
  return { prefill, decode };
}

function pointTable(name: string, points: readonly Labelled[]): string {
  return markdownTable(
    [
      `\`${name}\``,
      'ms a pass',
      'tokens/s',
      'MB a token',
      'FLOPs a byte',
      'of peak FLOP/s',
      'of bandwidth',
      'bound by',
    ],
    points.map(({ phase, label, ms, tokens, bytes, intensity, ofCompute, ofMemory, bound }) => [
      phase === 'prefill' ? `prefill of ${label}` : `decode, ${label} row${label === '1' ? '' : 's'}`,
      ms.toFixed(2),
      ((1000 * tokens) / ms).toFixed(0),
      (bytes / tokens / 1e6).toFixed(2),
      intensity.toFixed(1),
      percent(ofCompute, 0),
      percent(ofMemory, 0),
      bound,
    ]),
  );
}

writeMeasured(
  import.meta.url,
  `${LOAD.batch} requests at once, ${LOAD.promptTokens} tokens in and ${LOAD.maxTokens} out: own times, the median of ${size(7, 2)} runs.

${stageTable}

The same on ONNX Runtime's profiler, the four longest kinds of op:

${opTable}

Ceilings with ${ceilings.threads} threads: ${giga(ceilings.memory)} GB/s by a copy of 1 GiB, ${giga(ceilings.cached)} GB/s by one that spans 63 MB; GFLOP/s of a large product: ${peaks}.

${tables.join('\n\n')}`,
);
