/**
 * Every kernel on the GPU that is present, each checked against float64 first:
 * `npx tsx bench/gpu/run.ts [--quick] [--sweep] [--only gemm,int4] [--json FILE]`.
 * `--sweep` measures other tile sizes too; `--quick` takes small shapes, for a CPU that plays a GPU.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openGpu } from '../../src/gpu/index.ts';
import { CASES } from './cases.ts';
import { describe, measureContender, type Result } from './results.ts';
import { SIZES } from './sizes.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sweep: { type: 'boolean', default: false },
    only: { type: 'string', default: Object.keys(CASES).join() },
    json: { type: 'string' },
  },
});
const sizes = SIZES[values.quick ? 'quick' : 'full'];
const gpu = await openGpu();
const { vendor, architecture, description } = gpu.info;
const environment = {
  gpu: description,
  vendor,
  architecture,
  software: gpu.isSoftware,
  subgroupSize: gpu.subgroupSize,
  node: process.versions.node,
  date: new Date().toISOString(),
};
console.log(`${description}${gpu.isSoftware ? ' (a CPU: its times say nothing)' : ''}, Node ${environment.node}\n`);

const results: Result[] = [];
for (const name of values.only.split(',')) {
  const next = CASES[name]?.(sizes);
  if (next === undefined) throw new Error(`--only takes ${Object.keys(CASES).join(', ')}; not ${name}`);
  console.log(`${next.name}, ${next.shape}`);
  for (const contender of next.contenders) {
    if (contender.variant !== '' && !values.sweep) continue;
    const result = await measureContender(gpu, next, contender, values.quick);
    results.push(result);
    console.log(describe(result, results));
    // After each, for a run may be cut short.
    if (values.json) writeFileSync(values.json, `${JSON.stringify({ environment, results }, null, 1)}\n`);
  }
  console.log();
}
gpu.close();
process.exitCode = results.some(({ variant, failed }) => variant === '' && failed !== undefined) ? 1 : 0;
