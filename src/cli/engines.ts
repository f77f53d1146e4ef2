import type { Command } from 'commander';
import { engines } from '../engines/index.ts';

/** `rxllm engines`: the table of all engines. */
export function addEngines(program: Command): void {
  program
    .command('engines')
    .description('list the engines, each with its chapter and the question that it answers')
    .action(() => {
      const rows = [
        ['chapter', 'engine', 'question'],
        ...engines.map(({ recipe, chapter, question }) => [String(chapter), recipe.name, question]),
      ];
      const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
      for (const [chapter, engine, question] of rows) {
        process.stdout.write(`${chapter!.padEnd(widths[0]!)}  ${engine!.padEnd(widths[1]!)}  ${question}\n`);
      }
    });
}
