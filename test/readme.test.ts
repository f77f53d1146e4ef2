import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createEngine, describeSwap, EMBEDDED_MODEL, engines, kvCache, loadModel } from '../src/index.ts';

const readme = readFileSync('README.md', 'utf8');

const snippets = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);

/** The cells of each line that begins with a chapter's number, behind an empty one. */
function tableRows(text: string): string[][] {
  const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.filter(([, chapter]) => /^\d+$/.test(chapter ?? ''));
}

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
  expect(await run(snippets[0]!)).toMatch(/^, there was a .{40}[\s\S]*\n$/);
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

it('has a schema for JSON that a small model brings to an end', async () => {
  const [, schema = ''] = /^echo '(.*)' > schema\.json$/m.exec(readme) ?? [];
  const [, prompt = ''] = /generate --prompt '([^']*)' --json-schema schema\.json$/m.exec(readme) ?? [];
  const engine = await createEngine(kvCache, await loadModel(EMBEDDED_MODEL));
  const responseFormat = { type: 'json_schema', schema: JSON.parse(schema) } as const;
  const { text, finishReason } = await engine.generate(prompt, 64, { responseFormat });
  await engine.close();
  expect(finishReason).toBe('stop');
  expect(JSON.parse(text)).toEqual({ name: expect.any(String), legs: expect.any(Number) });
});

it('names the slots that each chapter swaps as `rxllm engines` does', () => {
  const swapped = engines.map((entry, index) => [entry.recipe.name, describeSwap(entry, engines[index - 1])]);
  const staged = swapped.filter(([, slots]) => !slots!.startsWith('('));
  const cells = tableRows(readFileSync('chapters/README.md', 'utf8')).map((row) =>
    row.slice(3, 5).map((cell) => cell.replaceAll('`', '')),
  );
  expect(cells.filter(([name]) => staged.some(([known]) => known === name))).toEqual(staged);
});

it('gives the state of each engine as the registry has it', () => {
  const rows = tableRows(readme);
  expect(rows.length).toBe(13);
  for (const [, chapter, , name, status] of rows) {
    const entry = engines.find(({ recipe }) => `\`${recipe.name}\`` === name);
    if (name?.startsWith('`')) expect([name, status === 'to come']).toEqual([name, entry === undefined]);
    if (entry) expect(entry.chapter).toBe(Number(chapter));
  }
});
