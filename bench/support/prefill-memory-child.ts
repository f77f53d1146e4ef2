/** The child of `prefillMemory`: DIRECTORY ATTENTION TOKENS arena|no-arena; prints MiB. */
import { readFileSync, writeFileSync } from 'node:fs';
import { firstValueFrom } from 'rxjs';
import type { AttentionVariant } from '../../src/core/graph/llama-graph.ts';
import { startPrefill } from './prefill-bench.ts';

const [directory, attention, tokens, arena] = process.argv.slice(2) as [string, AttentionVariant, string, string];
const SHORT = 64;

const { runner, batch } = await startPrefill(directory, attention, Number(tokens), arena === 'arena');
for (let at = 0; at < Number(tokens); at += SHORT) await firstValueFrom(runner.forward(batch(at, SHORT)));

const mib = (field: string) => {
  const line = readFileSync('/proc/self/status', 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm'));
  return Number(line![1]) / 1024;
};
// Loading may have peaked higher than the prompt will: the mark starts again from what is resident now.
writeFileSync('/proc/self/clear_refs', '5');
const before = mib('VmRSS');
await firstValueFrom(runner.forward(batch(0, Number(tokens))));
console.log((mib('VmHWM') - before).toFixed(1));
await runner.dispose();
