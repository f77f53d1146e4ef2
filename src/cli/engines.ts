import type { Command } from 'commander';
import { describeSwap, engines } from '../engines/index.ts';

/** `rxllm engines`: the table of all engines. */
export function addEngines(program: Command): void {
  program
    .command('engines')
    .description('list the engines, each with its chapter and the question that it answers')
    .action(() => {
      const table = [
        ['chapter', 'engine', 'question', 'swapped', 'exact'],
        ...engines.map((entry, index) => [
          String(entry.chapter),
          entry.recipe.name,
          entry.question,
          describeSwap(entry, engines[index - 1]),
          entry.recipe.exact ? 'yes' : 'no',
        ]),
      ];
      const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
      for (const row of table) {
        const line = row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
        process.stdout.write(`${line.trimEnd()}\n`);
      }
    });
}
