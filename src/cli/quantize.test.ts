import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
