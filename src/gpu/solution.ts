import type { Gpu, TypedArray } from './gpu.ts';
import type { Dispatch, Kernel } from './kernel.ts';
import type { Row } from './reference.ts';

/** Inputs, and the float64 rows that must come out of them. */
export interface Problem {
  readonly inputs: readonly TypedArray[];
  readonly rows: number;
  /** Numbers a row of the output. */
  readonly columns: number;
  readonly expected: Row;
}

/** What to run, from the buffers of the inputs to that of the output; `allocate` gives buffers for what is between. */
export type Solution = (
  gpu: Gpu,
  inputs: readonly GPUBuffer[],
  output: GPUBuffer,
  allocate: (bytes: number) => GPUBuffer,
) => Promise<readonly Dispatch[]>;

/** One kernel, whose buffers are the inputs and then the output. */
export const byKernel =
  (kernel: Kernel): Solution =>
  async (gpu, inputs, output) => [await gpu.prepare(kernel, [...inputs, output])];

/** A solution on its buffers, to be run as often as one likes; disposing of it destroys them, inputs and all. */
export interface Prepared extends Disposable {
  readonly dispatches: readonly Dispatch[];
  readonly output: GPUBuffer;
}

/** Nothing is left on the GPU where it throws. @throws what `solution` throws, and as `Gpu.allocate` does */
export async function prepare(
  gpu: Gpu,
  problem: Pick<Problem, 'inputs' | 'rows' | 'columns'>,
  solution: Solution,
): Promise<Prepared> {
  const buffers: GPUBuffer[] = [];
  const keep = (buffer: GPUBuffer) => {
    buffers.push(buffer);
    return buffer;
  };
  const dispose = () => {
    for (const buffer of buffers) buffer.destroy();
  };
  try {
    const inputs = problem.inputs.map((input) => keep(gpu.upload(input)));
    const output = keep(gpu.allocate(problem.rows * problem.columns * Float32Array.BYTES_PER_ELEMENT));
    const dispatches = await solution(gpu, inputs, output, (bytes) => keep(gpu.allocate(bytes)));
    return { dispatches, output, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** The output, `[rows, columns]`. */
export async function solve(
  gpu: Gpu,
  problem: Pick<Problem, 'inputs' | 'rows' | 'columns'>,
  solution: Solution,
): Promise<Float32Array> {
  using prepared = await prepare(gpu, problem, solution);
  await gpu.run(...prepared.dispatches);
  return gpu.read(prepared.output, Float32Array);
}
