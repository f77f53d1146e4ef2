import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const readme = readFileSync('README.md', 'utf8');

const snippets = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);

/** What a snippet of the README prints when it is saved and run. */
async function run(code: string): Promise<string> {
  const file = `test/readme-example-${process.pid}.ts`;
  writeFileSync(file, code);
  try {
    return (await promisify(execFile)(process.execPath, ['--import', 'tsx', file])).stdout;
  } finally {
    rmSync(file);
  }
}

it('composes a pipeline, in at most ten lines, that runs as it stands', async () => {
  expect(snippets[0]!.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(10);
  expect(await run(snippets[0]!)).toMatch(/^, there was a .{40}/);
});

it('shows the way that ends in one result, and a policy, with all that they need', async () => {
  const [generate = ''] = /const \{ text \} = await engine\.generate\([^`]*/.exec(readme) ?? [];
  const [before = ''] = snippets[0]!.split('engine.stream');
  const [, policy = ''] = snippets;
  expect(policy).toContain('shortestFirst');
  const code = `${before}${generate};\nconsole.log(text);\nawait engine.close();`;
  expect(await run(code)).toMatch(/^.{40}/);
  expect(await run(`${policy}console.log(recipe.name);`)).toBe('shortest-first\n');
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
