/**
 * The figures of run.ts beside the ceilings of ceilings.py, from the same GPU, as the Markdown table of the chapters:
 * `npx tsx bench/gpu/table.ts [--run FILE] [--ceilings FILE] [--write]`, by default those in `results`. `--write` puts
 * it into the chapters. Exits 1 where a kernel is below its floor.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { putMeasured } from '../../chapters/support/put-measured.ts';
import { markdownTable } from '../../chapters/support/table.ts';
import type { Result } from './results.ts';

interface Ceiling {
  readonly ms: number;
  readonly rate: number;
}

interface Run {
  readonly environment: Readonly<Record<'gpu' | 'node' | 'date', string>>;
  readonly results: readonly Result[];
}

interface Ceilings {
  readonly environment: Readonly<Record<'gpu' | 'torch' | 'cuda' | 'driver', string>>;
  readonly results: Readonly<Record<'copy' | 'gemm' | 'attention', Ceiling>>;
}

/** At least this share of the ceiling, and this many times the naive kernel of the same case. */
interface Floor {
  readonly share: number;
  readonly timesNaive?: number;
}

const FLOORS: Readonly<Record<string, Floor>> = {
  'gemm, register': { share: 0.55, timesNaive: 5 },
  'softmax, online vec4': { share: 0.8 },
  'attention, flash': { share: 0.55, timesNaive: 4 },
  'paged decode, subgroups': { share: 0.85 },
  'int4 gemv, a word a lane': { share: 0.45, timesNaive: 3 },
};

/** Which cases are in which text. */
const CHAPTERS: Readonly<Record<string, readonly string[]>> = {
  'ch07-kernels/README.md': ['copy', 'gemm', 'int4 gemv'],
  'ch08-flash-attention/gpu.md': ['copy', 'softmax', 'attention', 'paged decode'],
};

const result = (name: string) => fileURLToPath(new URL(`results/${name}`, import.meta.url));
const { values } = parseArgs({
  options: {
    run: { type: 'string', default: result('h200.json') },
    ceilings: { type: 'string', default: result('h200-torch.json') },
    write: { type: 'boolean', default: false },
  },
});
const run = JSON.parse(readFileSync(values.run, 'utf8')) as Run;
const ceilings = JSON.parse(readFileSync(values.ceilings, 'utf8')) as Ceilings;
const measured = run.results.filter(({ variant }) => variant === '');
const torch = ceilings.results;
const ownCopy = measured.find((result) => result.case === 'copy')?.rate ?? torch.copy.rate;
let below = 0;

function row(result: Result): string[] {
  const { kernel, shape, timing, rate, unit, failed } = result;
  const name = result.case === kernel ? kernel : `${result.case}, ${kernel}`;
  if (timing === undefined || rate === undefined) {
    below += 1;
    return [name, shape, failed ?? '', '', '', '', ''];
  }
  const ceiling = result.case === 'copy' ? torch.copy.rate : unit === 'bytes' ? ownCopy : ofTorch(result.case).rate;
  const share = rate / ceiling;
  const naive = measured.find((other) => other.case === result.case)?.timing?.ms ?? timing.ms;
  const timesNaive = naive / timing.ms;
  const floor = FLOORS[name];
  const met = floor === undefined || (share >= floor.share && timesNaive >= (floor.timesNaive ?? 0));
  if (!met) below += 1;
  const [lower, upper] = timing.quartiles;
  const digits = timing.ms < 1 ? 4 : 2;
  return [
    name,
    shape,
    `${timing.ms.toFixed(digits)} (${lower.toFixed(digits)}–${upper.toFixed(digits)})`,
    `${rate.toFixed(2)} ${unit === 'FLOP' ? 'TFLOP' : 'TB'}/s`,
    `${(100 * share).toFixed(0)}% of ${ceiling.toFixed(2)}`,
    result.case === 'copy' ? '–' : timesNaive.toFixed(1),
    floor === undefined ? '–' : `${describe(floor)}${met ? '' : ' **missed**'}`,
  ];
}

function ofTorch(name: string): Ceiling {
  if (name === 'gemm' || name === 'attention') return torch[name];
  throw new Error(`no ceiling for ${name}`);
}

const describe = ({ share, timesNaive }: Floor) =>
  `≥ ${(100 * share).toFixed(0)}%${timesNaive === undefined ? '' : `, ≥ ${timesNaive} ×`}`;

const head = ['kernel', 'shape', 'ms (quartiles)', 'rate', 'of its ceiling', '× the first', 'floor'];
const { torch: version, cuda, driver, gpu } = ceilings.environment;
const { node, date } = run.environment;
const CEILINGS_OF: Readonly<Record<string, string>> = {
  copy: `PyTorch's copy (${torch.copy.rate.toFixed(2)} TB/s)`,
  gemm: `PyTorch's float32 GEMM without TF32 (${torch.gemm.ms.toFixed(2)} ms)`,
  attention: `PyTorch's float32 attention (${torch.attention.ms.toFixed(2)} ms, the fastest of its backends)`,
};

function tableOf(cases: readonly string[]): string {
  const rows = measured.filter((result) => cases.includes(result.case)).map(row);
  const of = cases.flatMap((name) => CEILINGS_OF[name] ?? []);
  return `${markdownTable(head, rows)}

Ceilings, from the same GPU in the same run: ${of.join('; ')}; for all else that moves bytes, the copy kernel. Medians of 15 samples. The error against float64 is below 1e-5 in all.

\`npx tsx bench/gpu/run.ts --json RUN.json\`, \`python3 bench/gpu/ceilings.py --json CEILINGS.json\`, \`npx tsx bench/gpu/table.ts --run RUN.json --ceilings CEILINGS.json --write\`, ${date.slice(0, 10)}; one ${gpu}, driver ${/\d+\.\d+(\.\d+)?/.exec(driver)?.[0]}, through Vulkan; Node ${node}, webgpu ${webgpuVersion()}; PyTorch ${version} (CUDA ${cuda}).`;
}

function webgpuVersion(): string {
  const manifest = new URL('../../node_modules/webgpu/package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}

for (const [file, cases] of Object.entries(CHAPTERS)) {
  const table = tableOf(cases);
  console.log(`${file}\n\n${table}\n`);
  if (values.write) putMeasured(new URL(`../../chapters/${file}`, import.meta.url), table);
}
process.exitCode = below > 0 ? 1 : 0;
