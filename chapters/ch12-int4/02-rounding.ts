/** What rounding does to a weight matrix, as a picture: how often each weight occurs, before and after. */
import { writeFileSync } from 'node:fs';
import { quant } from 'rxllm';
import { args } from '../support/args.ts';
import { barChart } from '../support/bar-chart.ts';
import { weightsOf } from '../support/quantized-model.ts';

const BINS = 61;
const module = 'model.layers.0.self_attn.q_proj';
const weights = weightsOf(module);
const [rows, columns] = [384, weights.length / 384];
// The first row alone, so that the steps of one grid can be seen.
const row = weights.slice(0, columns);
const reach = Math.max(...row.map(Math.abs));

function histogram(values: Float32Array): number[] {
  const counts = Array<number>(BINS).fill(0);
  for (const value of values) {
    counts[Math.min(BINS - 1, Math.floor(((value / reach + 1) / 2) * BINS))]! += 1;
  }
  const most = Math.max(...counts);
  return counts.map((count) => count / most);
}

const rounded = (bits: number, groupSize: number | 'channel') => {
  const matrix = quant.roundToNearest(weights, rows, columns, quant.quantScheme({ bits, groupSize }));
  return quant.dequantize(matrix).slice(0, columns);
};
const panels = [
  { name: 'float16', values: histogram(row) },
  { name: 'int8, one scale a row', values: histogram(rounded(8, 'channel')) },
  { name: 'int4, one scale a row', values: histogram(rounded(4, 'channel')) },
  { name: 'int4, groups of 32', values: histogram(rounded(4, 32)) },
];
for (const { name, values } of panels) {
  const bars = values.map((value) => ' ▁▂▃▄▅▆▇█'[Math.ceil(value * 8)]).join('');
  console.log(`${name.padEnd(24)}${bars}`);
}
if (!args.quick) {
  const labels = Array.from({ length: BINS }, (_, i) =>
    i % 30 === 0 ? (((2 * i) / (BINS - 1) - 1) * reach).toFixed(2) : '',
  );
  writeFileSync(
    new URL('rounding.svg', import.meta.url),
    barChart('One row of weights, how often each value occurs', labels, panels),
  );
  console.log('\nwritten: rounding.svg');
}
