import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { modelDirectory } from '../../test/support/models.ts';
import { createProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'rxllm-cli-profile-'));
afterAll(() => rmSync(folder, { recursive: true }));
const draft = modelDirectory('storyteller-draft');

/** What the last one said of its progress. */
let told: string[] = [];

/** What the command prints. */
async function profile(...args: string[]): Promise<string> {
  const printed: string[] = [];
  told = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => told.push(String(text)) > 0);
  try {
    await createProgram().parseAsync(['node', 'rxllm', 'profile', ...args]);
  } finally {
    write.mockRestore();
    stderr.mockRestore();
  }
  return printed.join('');
}

const small = ['--model', draft, '--max-tokens', '4', '--batch', '2'];

it('tells a reader where time goes, and draws it', async () => {
  const svg = join(folder, 'roofline.svg');
  const text = await profile(...small, '--prompt-tokens', '16', '--svg', svg);
  expect(text).toMatch(/^continuous-batching on storyteller-draft: 2 × 16 tokens in, 4 out\n/);
  expect(text).toMatch(/\nprefill +\d+ .*%\n {2}forward pass +\d+ /);
  expect(text).toMatch(/\nwall +[\d.]+\n/);
  expect(text).toMatch(/\nop, decode [\s\S]*\nGemm +\d+ /);
  expect(text).toMatch(/ memory +[\d.]+ GB\/s/);
  expect(text).toMatch(/The stages add up to [\d.]+% of the wall time/);
  expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
});

it('prints one line of JSON, by node, of an engine that is one box', async () => {
  const args = ['--engine', 'baseline', '--prompt', 'Once upon a time', '--by-node', '--json'];
  const text = await profile('--max-tokens', '4', '--batch', '1', ...args);
  expect(text).toMatch(/^\{.*\}\n$/);
  expect(told.join('')).toBe(
    'profile: baseline: 1 × up to 4 tokens, in 3 parts\n' +
      [1, 2, 3].map((part) => `part ${part} of 3 is done\n`).join(''),
  );
  const { stages, wall_ms: wall, ops, phases, ceilings, prompt_tokens: tokens } = JSON.parse(text);
  expect(tokens).toBe(4);
  expect(stages.map(({ stage }: { stage: string }) => stage)).toEqual(['between requests', 'box', 'forward pass']);
  expect(wall).toBeGreaterThan(0);
  expect(ops.decode.ops.some(({ name }: { name: string }) => /^Gemm_\d+$/.test(name))).toBe(true);
  expect(phases.map(({ phase }: { phase: string }) => phase)).toEqual(['prefill', 'decode']);
  expect(Object.keys(ceilings.flops_per_s)).toEqual(['float32', 'int8', 'int4', 'row-int8']);
});

it.each([
  [['--batch', '0'], 'Allowed: a whole number from 1 to 256.'],
  [['--max-tokens', '1'], 'Allowed: a whole number of at least 2.'],
  [['--engine', 'warp'], 'Allowed: baseline,'],
  [
    ['--prompt', 'x', '--prompt-tokens', '8'],
    "'--prompt <text>' cannot be used with option '--prompt-tokens <number>'",
  ],
  [['--svg', join(folder, 'no', 'such.svg')], 'name another file with --svg'],
])('refuses %j', async (args, message) => {
  await expect(profile(...args)).rejects.toThrow(message);
});
