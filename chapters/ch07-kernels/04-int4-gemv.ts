/** W x for one token, W in 4 bits: every weight is read for one multiply-add, so that the bytes of W are all that counts. */
import { quant } from 'rxllm';
import { byKernel, int4Gemv, int4ProblemOf, naiveInt4Gemv } from 'rxllm/gpu';
import { gpuOrEnd, runAndCheck } from '../support/gpu.ts';
import { weightsOf } from '../support/quantized-model.ts';
import { textTable } from '../support/table.ts';

const GROUP = 32;
const ROWS_AT_ONCE = 8;
const THREADS = 32;
const module = 'model.layers.0.mlp.down_proj';
const [rows, columns] = [384, 1024];

console.log('A word of W has eight codes. Threads and the words that they read, first turn:\n');
const words = Array.from({ length: 8 }, (_, i) => `thread ${i}`).join('  ');
console.log(`  x         8 numbers each: ${words} …`);
for (const row of [0, 1]) console.log(`  W row ${row}   1 word each:    ${words} …`);
console.log(`  …         ${ROWS_AT_ONCE} rows a workgroup, all with the same x\n`);

/** Bytes for a weight, which is two FLOP. x is small enough for a cache, and asked for all the same. */
const bytesOf = (name: string, weight: number, x: number) => [name, weight, x, ((weight + x) / 2).toFixed(3)];
const packed = 0.5 + 4 / GROUP;
console.log(
  textTable(
    ['kernel', 'bytes of W a weight', 'bytes of x', 'bytes a FLOP'],
    [
      bytesOf('float32 GEMV', 4, 4),
      bytesOf('int4, naive', packed, 4),
      bytesOf(`int4, ${ROWS_AT_ONCE} rows at once`, packed, 4 / ROWS_AT_ONCE),
    ],
  ),
);

const scheme = quant.quantScheme({ bits: 4, groupSize: GROUP });
const matrix = quant.roundToNearest(weightsOf(module), rows, columns, scheme);
const { shape, ...problem } = int4ProblemOf(matrix, 1);
const [codes, scales] = problem.inputs;
const held = codes!.byteLength + scales!.byteLength;
const share = ((100 * held) / (4 * rows * columns)).toFixed(1);
console.log(`\n${module} [${rows}, ${columns}]: ${held} bytes, ${share}% of float32\n`);

const gpu = await gpuOrEnd();
const work = { unit: 'bytes', amount: held } as const;
await runAndCheck(gpu, 'naive', problem, byKernel(naiveInt4Gemv(shape)), { work });
const tile = { rowsAtOnce: ROWS_AT_ONCE, threads: THREADS };
await runAndCheck(gpu, 'a word a lane', problem, byKernel(int4Gemv({ ...shape, ...tile })), { work });

// The trick of the second: a code in the top of a float's fraction is 1 + code / 16, without any conversion.
const asFloat = (code: number) => new Float32Array(Uint32Array.of(0x3f800000 | (code << 19)).buffer)[0]!;
const shown = [0, 1, 8, 15].map((code) => `${code} → ${asFloat(code)}`).join(', ');
console.log(`\na code's bits in those of 1.0: ${shown}; weight = (16 × that − 24) × scale`);
gpu.close();
