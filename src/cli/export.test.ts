import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { modelDirectory } from '../../test/support/models.ts';
import { createProgram } from './program.ts';

it('says which file it wrote, from what, and whether one was there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rxllm-'));
  const file = join(folder, 'model.onnx');
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  const run = () => createProgram().parseAsync(['export', '--model', folder], { from: 'user' });
  try {
    await cp(modelDirectory('storyteller-draft'), folder, { recursive: true });
    await rm(file, { force: true });
    await run();
    const exported = await readFile(file);
    await run();
    await writeFile(file, 'another graph');
    await run();
    expect(await readFile(file)).toEqual(exported);
  } finally {
    write.mockRestore();
    await rm(folder, { recursive: true });
  }
  const from = 'kB, from the config.json and safetensors beside it, where the weights stay\n';
  for (const [index, done] of ['written', 'is up to date', 'replaced'].entries()) {
    expect(printed[index]).toMatch(new RegExp(`^${file}: ${done}, \\d+ ${from}$`));
  }
});
