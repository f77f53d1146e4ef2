import ort from 'onnxruntime-node';
import { OnnxBuilder } from '../../core/graph/onnx-builder.ts';
import { type QuantKernel, quantizedLinear } from '../../core/graph/quantized-linear.ts';
import type { MatrixKernel } from '../../core/profiling/weight-traffic.ts';
import { roundToNearest } from '../../core/quant/round-to-nearest.ts';
import { quantScheme, type SchemeOptions } from '../../core/quant/scheme.ts';
import { stockSession } from '../../core/runtime/stock-session.ts';
import { createRandom } from '../../core/sampling/random.ts';

/** As the engines quantize. */
const QUANTIZED: Readonly<Record<Exclude<MatrixKernel, 'float32'>, SchemeOptions & { readonly kernel: QuantKernel }>> =
  {
    int8: { bits: 8, groupSize: 32, kernel: 'blocks' },
    int4: { bits: 4, groupSize: 32, kernel: 'blocks' },
    'row-int8': { bits: 8, groupSize: 'channel', kernel: 'row-int8' },
  };
export const KERNELS: readonly MatrixKernel[] = ['float32', 'int8', 'int4', 'row-int8'];

export interface MatmulOptions {
  readonly threads: number;
  /** Of the square weight matrix; as many rows of activations are multiplied by it. */
  readonly side: number;
  readonly rounds: number;
}

/** FLOPs a second of one large matrix product in ONNX Runtime by the given kernel; the best of `rounds`. */
export async function matmulRate(kernel: MatrixKernel, { threads, side, rounds }: MatmulOptions): Promise<number> {
  const session = await stockSession(product(kernel, side), { threads });
  try {
    const x = new ort.Tensor('float32', noise(side * side, 2), [side, side]);
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      await session.run({ x });
      best = Math.min(best, performance.now() - start);
    }
    return (1000 * 2 * side ** 3) / best;
  } finally {
    await session.release();
  }
}

function product(kernel: MatrixKernel, side: number): Uint8Array {
  const g = new OnnxBuilder();
  const x = g.input('x', 'float32', [side, side]);
  const weights = noise(side * side, 1);
  if (kernel === 'float32') g.op('Gemm', [x, g.tensor('weights', [side, side], weights)], { transB: 1 }, 'y');
  else {
    const { kernel: by, ...scheme } = QUANTIZED[kernel];
    quantizedLinear(g, by)(x, 'weights', roundToNearest(weights, side, side, quantScheme(scheme)), 'y');
  }
  g.output('y', 'float32', [side, side]);
  return g.build('product');
}

function noise(length: number, seed: number): Float32Array {
  const random = createRandom(seed);
  return Float32Array.from({ length }, () => random() - 0.5);
}
