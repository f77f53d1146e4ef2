/** What a prompt in one chunk adds to a process's memory: one child process for each number. Linux. */
import { prefillMemory } from '../../bench/support/prefill-memory.ts';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const LENGTHS = [256, 512, 1024, 2048].slice(0, size(4, 2));

const rows: number[][] = [];
for (const tokens of LENGTHS) {
  const settings = { directory: args.model, tokens, arena: false };
  const naive = await prefillMemory({ ...settings, attention: 'naive' });
  const flash = await prefillMemory({ ...settings, attention: 'flash' });
  rows.push([tokens, naive, flash]);
}
console.log('MiB above what weights, KV cache and short prompts take:\n');
console.log(textTable(['tokens', 'naive', 'flash'], rows));

const [first, last] = [rows[0]!, rows.at(-1)!];
const grown = (column: number) => (last[column]! / first[column]!).toFixed(1);
console.log(`\n${last[0]! / first[0]!} times the tokens: naive × ${grown(1)}, flash × ${grown(2)}`);
console.log('What is left to flash are the activations of the other layers, a few vectors a token.');
