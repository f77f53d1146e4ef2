import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { modelDirectory } from '../../test/support/models.ts';
import { createProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'rxllm-cli-quantize-'));
afterAll(() => rmSync(folder, { recursive: true }));

const draft = modelDirectory('storyteller-draft');
const story = join(folder, 'story.txt');
writeFileSync(
  story,
  'Once upon a time, there was a little fox named Sunny. She lived in a warm den by the river. '.repeat(30),
);

/** What the command prints. */
async function rxllm(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  try {
    await createProgram().parseAsync(['node', 'rxllm', ...args]);
  } finally {
    write.mockRestore();
  }
  return printed.join('');
}

async function perplexityOf(model: string): Promise<number> {
  const printed = await rxllm('perplexity', '--model', model, '--file', story, '--window', '64', '--json');
  return JSON.parse(printed).perplexity;
}

it('writes a folder that loads, whose perplexity is near the float model’s', async () => {
  const float = await perplexityOf(draft);
  for (const args of [
    ['--method', 'rtn', '--bits', '8', '--group-size', '32'],
    ['--method', 'gptq', '--bits', '4', '--group-size', '32', '--calibration', story],
  ]) {
    const out = join(folder, args[1]!);
    expect(await rxllm('quantize', '--model', draft, '--out', out, ...args)).toContain(`${args[3]} bits by ${args[1]}`);
    expect(Math.abs((await perplexityOf(out)) / float - 1)).toBeLessThan(args[3] === '8' ? 0.02 : 0.2);
    // Told before a port is opened.
    await expect(rxllm('serve', '--model', out, '--quantize', 'row-int8', '--port', '0')).rejects.toMatchObject({
      code: 'RXLLM_OPTION_INVALID',
      message: expect.stringContaining(`have ${args[3]} bits already`),
    });
  }
});

it('says what is supported', async () => {
  const out = join(folder, 'none');
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  await expect(rxllm('quantize', '--out', out, '--bits', '3')).rejects.toThrow('Allowed: 4, 8.');
  await expect(rxllm('quantize', '--out', out, '--group-size', '48')).rejects.toThrow(
    'Allowed: 16, 32, 64, 128, channel.',
  );
  stderr.mockRestore();
  await expect(rxllm('quantize', '--model', draft, '--out', out)).rejects.toThrow('gptq needs a text');
});

it('refuses what only gptq takes with rtn, and an unfinished folder as a model', async () => {
  const out = join(folder, 'refused');
  const rtn = ['quantize', '--model', draft, '--out', out, '--method', 'rtn'];
  for (const [param, ...given] of [
    ['calibration', '--calibration', story],
    ['actOrder', '--act-order'],
    ['damping', '--damping', '0.01'],
  ] as const) {
    await expect(rxllm(...rtn, ...given)).rejects.toMatchObject({
      code: 'RXLLM_OPTION_INVALID',
      param,
      message: expect.stringContaining('leave it out, or use --method gptq'),
    });
  }
  expect(existsSync(out)).toBe(false);
  mkdirSync(out);
  writeFileSync(join(out, 'quantize-unfinished.json'), '{}');
  await expect(rxllm('perplexity', '--model', out, '--file', story)).rejects.toMatchObject({
    code: 'RXLLM_MODEL_FILE_MISSING',
    message: expect.stringContaining('an unfinished run of `rxllm quantize`, and no model yet. Run it again'),
  });
});
