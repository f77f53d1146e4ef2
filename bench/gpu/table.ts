/**
 * The figures of run.ts beside the ceilings of ceilings.py, from the same GPU, as the Markdown table of the chapters:
 * `npx tsx bench/gpu/table.ts RUN.json CEILINGS.json`. Exits 1 where a kernel is below its floor.
 */
import { readFileSync } from 'node:fs';
import { markdownTable } from '../../chapters/support/table.ts';
import type { Result } from './results.ts';

interface Ceiling {
  readonly ms: number;
  readonly rate: number;
}

interface Run {
  readonly environment: Readonly<Record<'gpu' | 'node', string>>;
  readonly results: readonly Result[];
}

interface Ceilings {
  readonly environment: Readonly<Record<'torch' | 'cuda' | 'driver', string>>;
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

const [run, ceilings] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8'))) as [Run, Ceilings];
const measured = run.results.filter(({ variant }) => variant === '');
const torch = ceilings.results;
const ownCopy = measured.find((result) => result.case === 'copy')?.rate ?? torch.copy.rate;
let below = 0;

function row(result: Result): string[] {
  const { kernel, shape, timing, rate, unit, failed } = result;
  const name = `${result.case}, ${kernel}`;
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

const head = ['kernel', 'shape', 'ms (quartiles)', 'rate', 'of its ceiling', '× naive', 'floor'];
console.log(markdownTable(head, measured.map(row)));
const { torch: version, cuda, driver } = ceilings.environment;
console.log(
  `\n${run.environment.gpu}, Node ${run.environment.node}, PyTorch ${version} (CUDA ${cuda}); ${driver}. Ceilings: PyTorch's float32 GEMM without TF32 ` +
    `(${torch.gemm.rate.toFixed(1)} TFLOP/s) and attention (${torch.attention.ms.toFixed(2)} ms); for what moves bytes, the copy kernel, and for ` +
    `that PyTorch's copy (${torch.copy.rate.toFixed(2)} TB/s).`,
);
process.exitCode = below > 0 ? 1 : 0;
