import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { profileEngine, profileParts } from '../bench/profile/profile-engine.ts';
import { rooflineChart, rooflineOf } from '../bench/profile/roofline-chart.ts';
import { createProgress } from '../bench/progress.ts';
import { loadModel } from '../core/model/load-model.ts';
import { findEngine } from '../engines/index.ts';
import { modelOption } from './model-options.ts';
import { note } from './note.ts';
import { engineName, integer, notEmpty } from './options.ts';
import { printProfile } from './print-profile.ts';
import { profileJson } from './profile-json.ts';
import { CliError } from './report-error.ts';

interface ProfileOptions {
  readonly engine: string;
  readonly model: string;
  readonly prompt?: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly batch: number;
  readonly byNode: boolean;
  readonly json: boolean;
  readonly svg?: string;
}

/** `rxllm profile`: where an engine's time goes. */
export function addProfile(program: Command): void {
  program
    .command('profile')
    .description("where an engine's time goes: its stages, its ops, and what this machine could do at most")
    .option('--engine <name>', 'one of `rxllm engines`', engineName, 'continuous-batching')
    .addOption(modelOption())
    .addOption(
      new Option('--prompt <text>', 'of all requests; default: random tokens')
        .argParser(notEmpty)
        .conflicts('promptTokens'),
    )
    .option('--prompt-tokens <number>', 'random tokens a prompt', integer(1), 128)
    .option('--max-tokens <number>', 'tokens to generate for each', integer(2), 64)
    .option('--batch <number>', 'requests at once; the roofline has 1, 2, 4 … of them too', integer(1, 256), 8)
    .option('--by-node', 'the ops one by one, as they are named in the graph', false)
    .option('--svg <file>', 'draw the roofline into this file', notEmpty)
    .option('--json', 'print one line of JSON, and nothing else, on stdout', false)
    .action(run);
}

async function run({ engine, model: directory, byNode, json, svg, ...job }: ProfileOptions): Promise<void> {
  if (svg !== undefined) write(svg, '');
  const model = await loadModel(directory);
  const parts = profileParts(job.batch);
  const progress = createProgress('profiling', parts);
  note(`profile: ${engine}: ${job.batch} × up to ${job.maxTokens} tokens, in ${parts} parts`);
  let done = 0;
  const advance = () => {
    progress.advance();
    done += 1;
    note(`part ${done} of ${parts} is done`);
  };
  const result = await profileEngine(findEngine(engine).recipe, model, {
    prompt: job.prompt ?? job.promptTokens,
    maxTokens: job.maxTokens,
    batch: job.batch,
    by: byNode ? 'node' : 'op',
    advance,
  }).finally(progress.stop);
  if (svg !== undefined) write(svg, rooflineChart(rooflineOf(result)));
  process.stdout.write(json ? `${JSON.stringify(profileJson(result))}\n` : printProfile(result));
}

/** Before the work as well, so that it is not in vain. @throws CliError */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(`cannot write ${file} (${(error as Error).message}); name another file with --svg.`);
  }
}
