import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { fromEvent, merge } from 'rxjs';
import type { GenerateRequest, ResponseFormat, SamplingParams } from '../core/contracts/index.ts';
import { loadModel } from '../core/model/load-model.ts';
import { DEFAULT_SAMPLING_PARAMS as DEFAULTS } from '../core/sampling/params.ts';
import { createEngine, findEngine } from '../engines/index.ts';
import {
  changedSlots,
  checkDraftModel,
  draftModelOption,
  type ModelOptions,
  modelOption,
  quantizeOption,
} from './model-options.ts';
import { DEFAULT_ENGINE, engineName, integer, notEmpty, number, optionsOnly } from './options.ts';
import { printGeneration } from './print-generation.ts';
import { CliError } from './report-error.ts';

/** What a shell shows for a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Sampling options are named as in `SamplingParams`. */
interface GenerateOptions
  extends ModelOptions,
    Partial<Pick<SamplingParams, 'maxTokens' | 'temperature' | 'topK' | 'topP' | 'seed'>> {
  readonly engine: string;
  readonly model: string;
  readonly prompt?: string;
  readonly jsonSchema?: string;
  readonly chat: boolean;
  readonly json: boolean;
}

/** `rxllm generate`: one prompt, in this process, without a server. */
export function addGenerate(program: Command): void {
  const command: Command = program
    .command('generate')
    .description('continue a prompt, or answer it with --chat')
    // Not requiredOption: that would be told before an option that is misspelt.
    .option('--prompt <text>', 'what to continue (required)')
    .option('--engine <name>', 'one of `rxllm engines`', engineName, DEFAULT_ENGINE)
    .addOption(modelOption())
    .addOption(draftModelOption())
    .addOption(quantizeOption())
    .option('--max-tokens <number>', `tokens to generate at most (default: ${DEFAULTS.maxTokens})`, integer(1))
    .option('--temperature <number>', '0 takes the likeliest token each time (default: 0)', number(0, 2))
    .option('--top-k <number>', 'draw from the k likeliest tokens; -1 from all (default: -1)', integer(-1))
    .option('--top-p <number>', 'draw from the likeliest tokens that add up to p (default: 1)', number(0, 1))
    .option(
      '--seed <number>',
      'the same seed draws the same tokens (default: another each time)',
      integer(Number.MIN_SAFE_INTEGER),
    )
    .option('--json-schema <file>', 'write JSON that fits the schema in this file', notEmpty)
    .option('--chat', "put the prompt into the model's chat template", false)
    .option('--json', 'print one line of JSON, and nothing else, on stdout', false)
    .action((options: GenerateOptions) => {
      const { prompt } = options;
      if (prompt === undefined) command.error("error: required option '--prompt <text>' not specified");
      return generate({ ...options, prompt });
    });
  optionsOnly(command, () => 'Give the text with --prompt, in quotation marks.');
}

async function generate(options: GenerateOptions & { readonly prompt: string }): Promise<void> {
  const { engine: name, model: directory, quantize, draftModel, prompt, chat, json, jsonSchema, ...given } = options;
  const format = jsonSchema === undefined ? {} : { responseFormat: await readSchema(jsonSchema) };
  const params = { ...given, ...format };
  const { recipe } = findEngine(name);
  checkDraftModel(recipe, options);
  const model = await loadModel(directory);
  const engine = await createEngine({ ...recipe, ...changedSlots(recipe, options, model) }, model);
  const request: GenerateRequest = { prompt: chat ? [{ role: 'user', content: prompt }] : prompt, params };
  try {
    const finished = await printGeneration(engine, request, {
      json,
      stdout: (text) => process.stdout.write(text),
      stderr: (text) => process.stderr.write(text),
      // A reader of our output that has gone (`| head`) is an error of stdout.
      stop$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM'), fromEvent(process.stdout, 'error')),
    });
    if (!finished) process.exitCode = INTERRUPTED;
  } finally {
    await engine.close();
  }
}

async function readSchema(file: string): Promise<ResponseFormat> {
  try {
    return { type: 'json_schema', schema: JSON.parse(await readFile(file, 'utf8')) };
  } catch (error) {
    throw new CliError(`--json-schema ${file}: ${(error as Error).message}.`);
  }
}
