/** Why recomputing is quadratic: how many tokens go through the model for so many that come out. */
import { firstValueFrom } from 'rxjs';
import { loadModel, primitives, stock } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const PROMPT = 16;
const outputs = [1, 16, 64, 256, 512];
const sumUpTo = (count: number) => (count * (count + 1)) / 2;
/** Pass i runs the prompt and the i tokens before it. */
const recomputed = (output: number) => output * PROMPT + sumUpTo(output - 1);
/** The prompt once, and then each token but the last. */
const withCache = (output: number) => PROMPT + output - 1;

console.log(`A prompt of ${PROMPT} tokens, and tokens run through the model to get so many more:\n`);
console.log(
  textTable(
    ['tokens out', 'recomputing', 'with a cache', 'times as many'],
    outputs.map((n) => [n, recomputed(n), withCache(n), Number((recomputed(n) / withCache(n)).toFixed(1))]),
  ),
);

const model = await loadModel(args.model);
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(primitives()(model, 'none'), model, pool);
const pass = async (width: number): Promise<number> => {
  const ids = [Array.from({ length: width }, (_, i) => 100 + i)];
  const batch = { rows: 1, width, ids, positions: [0], blockTables: [[]], logitsAt: [width - 1] };
  const start = performance.now();
  await firstValueFrom(runner.forward(batch));
  return performance.now() - start;
};
console.log('\nand one pass, the best of a few, grows with what it runs:\n');
for (const width of [16, 64, 256, 512].slice(0, size(4, 2))) {
  const times: number[] = [];
  for (let run = 0; run < size(5, 2); run++) times.push(await pass(width));
  console.log(
    `  ${String(width).padStart(4)} tokens  ${Math.min(...times)
      .toFixed(1)
      .padStart(6)} ms`,
  );
}
await runner.dispose();
