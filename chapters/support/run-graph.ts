import ort from 'onnxruntime-node';
import type { Edge, OnnxBuilder } from 'rxllm';
import { args } from './args.ts';

export interface Tensor {
  readonly dims: readonly number[];
  readonly data: readonly number[];
}

type Input = { readonly dims: readonly number[]; readonly data: readonly number[]; readonly int64?: boolean };

/** Runs a graph as it stands, with the edges of these names as its outputs. Weights come from the model's folder. */
export async function runGraph<Names extends string>(
  g: OnnxBuilder,
  inputs: Readonly<Record<string, Input>>,
  outputs: Readonly<Record<Names, Edge>>,
): Promise<Record<Names, Tensor>> {
  const edges: Edge[] = Object.values(outputs);
  for (const edge of new Set(edges)) g.output(edge, 'float32');
  const session = await ort.InferenceSession.create(g.build('part'), {
    logSeverityLevel: 3,
    extra: { session: { model_external_initializers_file_folder_path: args.model } },
  });
  const feeds = Object.entries(inputs).map(([name, { dims, data, int64 }]) => [
    name,
    int64 ? new ort.Tensor('int64', BigInt64Array.from(data, BigInt), dims) : new ort.Tensor('float32', data, dims),
  ]);
  const results = await session.run(Object.fromEntries(feeds));
  const found = Object.entries<Edge>(outputs).map(([name, edge]): [string, Tensor] => {
    const { dims, data } = results[edge]!;
    return [name, { dims, data: [...(data as Float32Array)] }];
  });
  await session.release();
  return Object.fromEntries(found) as Record<Names, Tensor>;
}

/** `[2, 3]  0.12 -1.50 …` */
export function show({ dims, data }: Tensor, count = 6): string {
  const values = data.slice(0, count).map((value) => (Math.abs(value) < 0.0005 ? '0' : value.toPrecision(3)));
  return `[${dims.join(', ')}]  ${values.join(' ')}${data.length > count ? ' …' : ''}`;
}

/** Rows of a matrix `[…, columns]`. */
export function rowsOf({ dims, data }: Tensor): number[][] {
  const columns = dims.at(-1)!;
  return Array.from({ length: data.length / columns }, (_, row) => data.slice(row * columns, (row + 1) * columns));
}

export const length = (vector: readonly number[]): number => Math.sqrt(dot(vector, vector));
export const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0);
