import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url));

it('runs the step that is asked for, with the options for it', () => {
  const args = ['--import', 'tsx', CLI, 'chapter', '2', '2', '--quick', '--prompt', 'Once upon'];
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^── chapters\/ch02-generate-loop\/02-by-hand\.ts\nprefill +2 tokens in/);
});

it.each([
  [['--promt', 'x'], "error: Unknown option '--promt'. Allowed: --quick, --model, --prompt, --port.\n"],
  [['--prompt'], "error: Option '--prompt <value>' argument missing. Allowed: --quick, --model, --prompt, --port.\n"],
])('a wrong option of a file is told in one line: %j', (options, message) => {
  const args = ['--import', 'tsx', CLI, 'chapter', '1', '02', ...options];
  const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: message, status: 2 });
});

it.each([
  [['99'], /^error: there is no chapter 99 here; there is 1, 2, 3, 4, .*\d\.\n$/],
  [['1', '9'], /^error: chapter 1 has no step "9"; it has 00-start\.ts/],
  [['1', '77'], /^error: chapter 1 has no step "77"; it has 00-start\.ts, 01-load\.ts/],
])('says what there is when a chapter or a step is not: %j', async (args, message) => {
  const run = createProgram().parseAsync(['chapter', ...args], { from: 'user' });
  let stderr = '';
  const code = reportError(await run.catch((reason: unknown) => reason), (text) => {
    stderr += text;
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});
