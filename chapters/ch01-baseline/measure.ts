/** Runs both benchmarks and writes what they print into the README. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { args } from '../support/args.ts';
import { writeMeasured } from '../support/measured.ts';

const tables = ['06-benchmark-offline.ts', '06-benchmark-online.ts'].map((name) => {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const options = args.quick ? ['--quick'] : [];
  return execFileSync(process.execPath, ['--import', 'tsx', file, ...options], { encoding: 'utf8' }).trimEnd();
});
writeMeasured(import.meta.url, ['```', ...tables, '```'].join('\n'));
