/** Online softmax in WGSL: maximum and sum in one pass over a row, by threads whose parts are merged in a tree. */
import { byKernel, onlineSoftmax, onlineSoftmaxVec4, softmaxProblem, threePassSoftmax } from 'rxllm/gpu';
import { size } from '../support/args.ts';
import { gpuOrEnd, onGpu, runAndCheck } from '../support/gpu.ts';
import { textTable } from '../support/table.ts';

type Part = readonly [maximum: number, sum: number];

/** Two parts of a row as one; the shader's `merge`, in float64. */
const merge = ([m0, s0]: Part, [m1, s1]: Part): Part => {
  const maximum = Math.max(m0, m1);
  return [maximum, s0 * Math.exp(m0 - maximum) + s1 * Math.exp(m1 - maximum)];
};
const shown = ([maximum, sum]: Part) => `(${maximum}, ${sum.toFixed(4)})`;

const row = [3, 1, 7, 2, 100, 4, 99, 5];
const THREADS = 4;
console.log(`a row of ${row.length}: ${row.join('  ')}; a part is (maximum, Σ exp(value − maximum))\n`);
let parts = Array.from({ length: THREADS }, (_, thread) =>
  row
    .filter((_, i) => i % THREADS === thread)
    .map((value): Part => [value, 1])
    .reduce(merge),
);
console.log(`  ${THREADS} threads, each every ${THREADS}th value   ${parts.map(shown).join('  ')}`);
while (parts.length > 1) {
  const half = parts.length / 2;
  parts = parts.slice(0, half).map((part, i) => merge(part, parts[i + half]!));
  console.log(
    `  merged by ${half === 1 ? '1 thread ' : `${half} threads`}                ${parts.map(shown).join('  ')}`,
  );
}
const naive = row.reduce((sum, value) => sum + Math.fround(Math.exp(value)), 0);
console.log(`\nwithout a maximum, exp(100) in float32 is ${Math.fround(Math.exp(100))}, and so is the sum: ${naive}\n`);

console.log(
  textTable(
    ['kernel', 'reads a number', 'writes', 'exp a number', 'of a copy at best'],
    [
      ['three passes', 3, 1, 2, '50%'],
      ['online', 2, 1, 3, '67%'],
      ['online, four at a time', 2, 1, 2.25, '67%'],
    ],
  ),
);
console.log('\nA row that a cache holds is read from memory once, and only then may it come nearer to a copy.\n');

const gpu = await gpuOrEnd();
const shape = onGpu(gpu, { rows: 8192, columns: 4096 }, { rows: size(300, 20), columns: 700 });
const problem = softmaxProblem(shape, 1);
const work = { unit: 'bytes', amount: 2 * problem.inputs[0]!.byteLength } as const;
for (const kernel of [threePassSoftmax(shape), onlineSoftmax(shape), onlineSoftmaxVec4(shape)]) {
  await runAndCheck(gpu, kernel.name, problem, byKernel(kernel), { work });
}
gpu.close();
