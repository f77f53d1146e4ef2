import { cpus } from 'node:os';
import type { ModelRunner } from '../../src/core/contracts/index.ts';

export function describeMachine(runner: Pick<ModelRunner, 'description'>, directory: string): void {
  const [cpu] = cpus();
  console.log(`${directory} on ${runner.description}; node ${process.version}, ${cpus().length} × ${cpu?.model}`);
}

export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  for (const row of cells) console.log(row.map((cell, column) => cell.padStart(widths[column]!)).join('  '));
}
