import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url));

function chapter(...args: string[]) {
  const command = ['--import', 'tsx', CLI, 'chapter', ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { stdout, stderr, status };
}

it('runs the step that is asked for, with the options for it', () => {
  const { stdout, status } = chapter('2', '2', '--quick', '--prompt', 'Once upon');
  expect(status).toBe(0);
  expect(stdout).toMatch(/^── chapters\/ch02-generate-loop\/02-by-hand\.ts\nprefill +2 tokens in/);
});

it('says what there is when a chapter or a step is not', () => {
  expect(chapter('99')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^error: there is no chapter 99 here; there is 1, 2, 3, 4, .*\d\.\n$/),
  });
  expect(chapter('1', '9').stderr).toContain('chapter 1 has no step "9"; it has 00-start.ts');
  const { status, stderr } = chapter('1', '77');
  expect(status).toBe(1);
  expect(stderr).toContain('chapter 1 has no step "77"; it has 00-start.ts, 01-load.ts');
});
