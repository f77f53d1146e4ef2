import { type Gpu, gpuOrReason, measure, type Problem, prepare, problemError, type Solution } from 'rxllm/gpu';

/** The machine's GPU, or a CPU that plays one. Where there is neither, the file says why and ends. */
export async function gpuOrEnd(): Promise<Gpu> {
  const gpu = await gpuOrReason();
  if (typeof gpu === 'string') {
    console.log(`nothing was run: ${gpu}`);
    process.exit(0);
  }
  const played = gpu.isSoftware ? ', a CPU that plays a GPU: its times say nothing, and none are shown' : '';
  console.log(`on ${gpu.info.description}${played}\n`);
  return gpu;
}

/** The second where a CPU plays the GPU: it is slow, and compiles large tiles for minutes. */
export const onGpu = <T>(gpu: Gpu, full: T, small: T): T => (gpu.isSoftware ? small : full);

export interface Work {
  readonly unit: 'FLOP' | 'bytes';
  /** Of one run. */
  readonly amount: number;
}

/** Runs, compares with float64, and says how far off it is; on a GPU also how fast. @throws Error where it is wrong */
export async function runAndCheck(
  gpu: Gpu,
  name: string,
  problem: Problem,
  solution: Solution,
  { work, tolerance = 1e-5 }: { readonly work?: Work; readonly tolerance?: number } = {},
): Promise<Float32Array> {
  using prepared = await prepare(gpu, problem, solution);
  await gpu.run(...prepared.dispatches);
  const found = await gpu.read(prepared.output, Float32Array);
  const error = problemError(problem, found, 64);
  if (!(error < tolerance)) throw new Error(`${name} is wrong: error ${error}, and ${tolerance} is allowed`);
  const speed = work && !gpu.isSoftware ? `  ${await speedOf(gpu, prepared.dispatches, work)}` : '';
  console.log(`  ${name.padEnd(24)} error ${error.toExponential(0)} of the largest value${speed}`);
  return found;
}

async function speedOf(gpu: Gpu, dispatches: Parameters<typeof measure>[1], { unit, amount }: Work): Promise<string> {
  const { ms } = await measure(gpu, dispatches, { repeats: 7 });
  return `${ms.toFixed(3)} ms, ${(amount / ms / 1e9).toFixed(2)} ${unit === 'FLOP' ? 'TFLOP' : 'TB'}/s`;
}
