import type { Command } from 'commander';
import { loadModel } from '../core/model/load-model.ts';
import { findStages, replay } from '../engines/index.ts';
import { changedSlots } from './model-options.ts';
import { modelDirectory } from './options.ts';
import { readRecording } from './read-recording.ts';
import { CliError } from './report-error.ts';

/** `rxllm replay`: runs a recording of `serve --record` again, and says where the two part if they do. */
export function addReplay(program: Command): void {
  program
    .command('replay')
    .description('run a recording of `serve --record` again, on the engine it names, and compare each step')
    .argument('<file>', 'the recording')
    .option('--model <dir>', 'the model, where it is no longer in the folder of the recording', modelDirectory)
    .action(async (file: string, { model }: { readonly model?: string }) => {
      const lines = readRecording(file);
      const [header] = lines;
      const recipe = findStages(header.engine);
      const loaded = await loadModel(model ?? header.model);
      const { steps, parting } = await replay({ ...recipe, ...changedSlots(recipe, header, loaded) }, loaded, lines);
      if (!parting) {
        process.stdout.write(`${steps} steps, identical\n`);
        return;
      }
      const { index, recorded, replayed } = parting;
      throw new CliError(
        `They part in step ${index}, number ${steps} of those that ran.\n` +
          `recorded ${JSON.stringify(recorded)}\nreplayed ${JSON.stringify(replayed)}`,
      );
    });
}
