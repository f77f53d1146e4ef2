import { type Gpu, measure, prepare, problemError, type Timing } from '../../src/gpu/index.ts';
import type { Case, Contender } from './cases.ts';

/** A figure, or why there is none. */
export interface Result {
  readonly case: string;
  readonly shape: string;
  readonly kernel: string;
  readonly variant: string;
  readonly unit: 'FLOP' | 'bytes';
  readonly failed?: string;
  readonly error?: number;
  readonly timing?: Timing;
  /** TFLOP/s or TB/s, by the median. */
  readonly rate?: number;
}

/** Of a large result as many rows are compared. */
const ROWS_CHECKED = 24;

export async function measureContender(
  gpu: Gpu,
  { name, shape, problem, work, tolerance }: Case,
  { kernel, variant, solution }: Contender,
  quick: boolean,
): Promise<Result> {
  const result = { case: name, shape, kernel, variant, unit: work.unit };
  try {
    using prepared = await prepare(gpu, problem, solution);
    await gpu.run(...prepared.dispatches);
    const error = problemError(problem, await gpu.read(prepared.output, Float32Array), ROWS_CHECKED);
    if (!(error < tolerance)) return { ...result, error, failed: `error ${error}, tolerance ${tolerance}` };
    const timing = await measure(gpu, prepared.dispatches, quick ? { repeats: 3, sampleMs: 1 } : {});
    return { ...result, error, timing, rate: work.amount / timing.ms / 1e9 };
  } catch (thrown) {
    return { ...result, failed: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** A line, with the ratio to the first kernel of its case, or to the copy where it moves bytes. */
export function describe(
  { kernel, variant, unit, failed, timing, rate, ...result }: Result,
  all: readonly Result[],
): string {
  const name = `  ${variant === '' ? kernel : `  ${variant}`}`.padEnd(80);
  if (timing === undefined || rate === undefined) return `${name} ${failed}`;
  const first = all.find((other) => other.case === result.case);
  const copied = all.find((other) => other.case === 'copy');
  const [q1, q3] = timing.quartiles;
  const figures = `${timing.ms.toFixed(4)} ms (${q1.toFixed(4)} to ${q3.toFixed(4)})  ${rate.toFixed(2)} ${unit === 'FLOP' ? 'TFLOP' : 'TB'}/s`;
  const ratios = [
    ...(first?.timing ? [`${(first.timing.ms / timing.ms).toFixed(2)} × ${first.kernel}`] : []),
    ...(unit === 'bytes' && copied?.rate ? [`${((100 * rate) / copied.rate).toFixed(0)}% of copy`] : []),
  ];
  return `${name} ${figures}  ${ratios.join(', ')}`;
}
