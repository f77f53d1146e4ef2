/** Memory, perplexity and divergence for each method, and the error of each layer. About a quarter of an hour on two cores. */
import { writeFileSync } from 'node:fs';
import { evaluation, llama, native, quant } from 'rxllm';
import { args } from '../support/args.ts';
import { lineChart } from '../support/line-chart.ts';
import { writeMeasured } from '../support/measured.ts';
import { gramsOf, model, quantizeAll, WINDOW, weightsOf, windowsFrom } from '../support/quantized-model.ts';
import { markdownTable } from '../support/table.ts';

const evalWindows = await windowsFrom('stories-eval.txt', model);
const calibration = await windowsFrom('stories-calibration.txt', model);
const grams = await gramsOf(evalWindows);
const pool = evaluation.windowPool(WINDOW);
const floats = await native()(llama()(model, pool.layout), model, pool);
const float = await evaluation.perplexity(floats, evalWindows.flat(), WINDOW);

interface Row {
  readonly bits: number;
  readonly group: number | string;
  readonly method: 'rtn' | 'gptq';
  readonly share: number;
  readonly seconds: number;
  readonly perplexity: number;
  readonly kl: number;
  readonly errors: readonly number[];
}

const METHODS: readonly quant.QuantMethod[] = [{ name: 'rtn' }, { name: 'gptq', options: {}, windows: calibration }];

async function measure(scheme: quant.QuantScheme, method: quant.QuantMethod): Promise<Row> {
  const start = performance.now();
  const matrices = await quantizeAll(scheme, method);
  const seconds = (performance.now() - start) / 1000;
  const source = quant.quantizedSource(model, pool.layout, 'float', (module) => matrices.get(module));
  const runner = await native()(source, model, pool);
  const { meanKl, perplexity } = await evaluation.divergence(floats, runner, evalWindows.flat(), WINDOW);
  await runner.dispose();
  const modules = [...grams.keys()];
  const bytes = modules.map((module) => quant.packedBytes(quant.packBlocks(matrices.get(module)!)));
  const floatBytes = modules.map((module) => 4 * matrices.get(module)!.codes.length);
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  return {
    bits: scheme.bits,
    group: scheme.groupSize,
    method: method.name,
    share: sum(bytes) / sum(floatBytes),
    seconds,
    perplexity,
    kl: meanKl,
    errors: modules.map((module) =>
      quant.outputError(weightsOf(module), matrices.get(module)!, grams.get(module)!.sum),
    ),
  };
}

const schemes = [
  { bits: 4, groupSize: 32 },
  { bits: 8, groupSize: 32 },
  { bits: 4, groupSize: 64 },
  { bits: 4, groupSize: 128 },
  { bits: 4, groupSize: 16 },
  { bits: 4, groupSize: 'channel' },
] as const;

const rows: Row[] = [];
for (const scheme of schemes.slice(0, args.quick ? 1 : schemes.length)) {
  for (const method of scheme.bits === 8 ? METHODS.slice(0, 1) : METHODS) {
    const row = await measure(quant.quantScheme(scheme), method);
    rows.push(row);
    console.log(JSON.stringify({ ...row, errors: undefined }));
  }
}
await floats.dispose();

const percent = (ratio: number, digits = 1) => `${(100 * ratio).toFixed(digits)}%`;
const twin = (row: Row) =>
  rows.find(({ bits, group, method }) => bits === row.bits && group === row.group && method === 'rtn')!;
const table = markdownTable(
  [
    'bits',
    'group',
    'method',
    'memory / float32',
    'seconds',
    'perplexity',
    'over float',
    'mean KL',
    'of RTN’s',
    'layers better than RTN',
    'worst layer / RTN',
  ],
  rows.map((row) => {
    const rtn = twin(row);
    const ratios = row.errors.map((error, i) => error / rtn.errors[i]!);
    const against =
      row === rtn
        ? ['', '', '']
        : [
            percent(row.kl / rtn.kl),
            `${ratios.filter((r) => r < 1).length} of ${ratios.length}`,
            Math.max(...ratios).toFixed(2),
          ];
    const [klShare, better, worst] = against;
    const over = row.perplexity / float.perplexity - 1;
    return [
      row.bits,
      row.group,
      row.method,
      percent(row.share),
      row.seconds.toFixed(1),
      row.perplexity.toFixed(4),
      percent(over, 2),
      row.kl.toFixed(5),
      klShare!,
      better!,
      worst!,
    ];
  }),
);
if (!args.quick) {
  const points = (method: string) =>
    rows
      .find((row) => row.bits === 4 && row.group === 64 && row.method === method)!
      .errors.map((error, i) => [i, 100 * error] as const);
  const svg = lineChart({
    title: 'Error of each linear layer’s output on other text, int4 in groups of 64',
    x: 'linear layers in their order: q k v, o, gate up, down',
    y: '% of the output’s energy',
    series: [
      { name: 'rounded to nearest', points: points('rtn') },
      { name: 'GPTQ', points: points('gptq') },
    ],
  });
  writeFileSync(new URL('layer-errors.svg', import.meta.url), svg);
}
writeMeasured(
  import.meta.url,
  `${table}\n\nWeights only (kernel \`float\`), symmetric, without act-order; float32 has perplexity ${float.perplexity.toFixed(4)}. Linear layers only; windows of ${WINDOW}.`,
);
