/** RoPE: queries and keys are turned by an angle that grows with position, so their product knows how far apart they are. */
import { loadModel, OnnxBuilder, primitive, ropeTables } from 'rxllm';
import { args } from '../support/args.ts';
import { dot, length, rowsOf, runGraph, show } from '../support/run-graph.ts';

const { config } = await loadModel(args.model);
const { headDim, rope, maxPositions } = config;
const half = headDim / 2;
const positions = [0, 1, 2, 10, 11, 12, 100, 110];
const vector = Array.from({ length: headDim }, (_, i) => Math.cos(i));
const tables = ropeTables(rope, headDim, maxPositions);
const at = (table: Float32Array) => positions.flatMap((p) => [...table.subarray(p * half, (p + 1) * half)]);

const g = new OnnxBuilder();
const width = positions.length;
const x = g.input('x', 'float32', [1, 1, width, headDim]);
const angles = (name: string) => g.input(name, 'float32', [1, 1, width, half]);
const turned = primitive.rope(g, x, angles('cos'), angles('sin'), headDim);
const out = await runGraph(
  g,
  {
    x: { dims: [1, 1, width, headDim], data: positions.flatMap(() => vector) },
    cos: { dims: [1, 1, width, half], data: at(tables.cos) },
    sin: { dims: [1, 1, width, half], data: at(tables.sin) },
  },
  { turned },
);

console.log(`one head's vector at ${width} positions: ${show(out.turned)}\n`);
const rows = new Map(rowsOf(out.turned).map((row, index) => [positions[index]!, row]));
console.log(
  `it is turned and not stretched: length ${positions.map((p) => length(rows.get(p)!).toFixed(3)).join(' ')}\n`,
);
console.log('query · key depends on how far apart they are, and on nothing else:');
const pairs = [
  [0, 0],
  [100, 100],
  [1, 0],
  [11, 10],
  [2, 0],
  [12, 10],
  [10, 0],
  [110, 100],
] as const;
for (const [q, k] of pairs) {
  const product = dot(rows.get(q)!, rows.get(k)!);
  console.log(
    `  query at ${String(q).padStart(3)}, key at ${String(k).padStart(3)}, apart ${String(q - k).padStart(2)}: ${product.toFixed(3)}`,
  );
}
