import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { exportGraph, PREBUILT_FILE } from '../core/graph/prebuilt.ts';
import { loadConfigAndWeights } from '../core/model/load-model.ts';
import { modelOption } from './model-options.ts';

/** `rxllm export`: the graph of the engines `baseline` and `generate-loop`, as a file beside the weights. */
export function addExport(program: Command): void {
  program
    .command('export')
    .description(
      `write ${PREBUILT_FILE}, a graph without a cache, beside a model's safetensors, over one that is there`,
    )
    .addOption(modelOption())
    .action(async ({ model }: { readonly model: string }) => {
      const bytes = await exportGraph(await loadConfigAndWeights(model));
      const path = join(model, PREBUILT_FILE);
      const before = await readFile(path).catch(() => undefined);
      const isSame = before?.equals(bytes);
      if (!isSame) await writeFile(path, bytes);
      const done = isSame ? 'is up to date' : before ? 'replaced' : 'written';
      const size = `${(bytes.length / 1000).toFixed(0)} kB`;
      process.stdout.write(
        `${path}: ${done}, ${size}, from the config.json and safetensors beside it, where the weights stay\n`,
      );
    });
}
