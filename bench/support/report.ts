import { cpus } from 'node:os';
import { type Cell, textTable } from '../../src/bench/text-table.ts';
import type { ModelRunner } from '../../src/core/contracts/index.ts';

export function describeMachine(runner: Pick<ModelRunner, 'description'>, directory: string): void {
  const [cpu] = cpus();
  console.log(`${directory} on ${runner.description}; node ${process.version}, ${cpus().length} × ${cpu?.model}`);
}

/** Rows under a head, all set to the right: most cells are numbers with as many digits as they deserve. */
export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  console.log(textTable(head, rows, 'all'));
}
