import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const readme = readFileSync('README.md', 'utf8');

it('composes a pipeline, in at most ten lines, that runs as it stands', async () => {
  const [, code = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  expect(code.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(10);
  const file = `test/readme-example-${process.pid}.ts`;
  writeFileSync(file, code);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file]);
    expect(stdout).toMatch(/^, there was a .{40}/);
  } finally {
    rmSync(file);
  }
});

it('gives the state of each engine as the registry has it', async () => {
  const { engines } = await import('../src/engines/index.ts');
  const rows = readme
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, chapter]) => /^\d+$/.test(chapter ?? ''));
  expect(rows.length).toBe(13);
  for (const [, chapter, , name, status] of rows) {
    const entry = engines.find(({ recipe }) => `\`${recipe.name}\`` === name);
    if (name?.startsWith('`')) expect([name, status === 'to come']).toEqual([name, entry === undefined]);
    if (entry) expect(entry.chapter).toBe(Number(chapter));
  }
});
