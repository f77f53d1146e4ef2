import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { createProgress } from '../bench/progress.ts';
import { type Perplexity, perplexity } from '../core/eval/perplexity.ts';
import { windowPool, windowsOf } from '../core/eval/window-logits.ts';
import { llama } from '../core/graph/llama-graph.ts';
import { loadModel } from '../core/model/load-model.ts';
import { autoRuntime } from '../core/runtime/auto-runtime.ts';
import { modelOption } from './model-options.ts';
import { integer } from './options.ts';
import { CliError } from './report-error.ts';

interface PerplexityOptions {
  readonly model: string;
  readonly file: string;
  readonly window: number;
  readonly json: boolean;
}

/** `rxllm perplexity`: how surprised a model is by a text. */
export function addPerplexity(program: Command): void {
  program
    .command('perplexity')
    .description('the perplexity of a text, in consecutive windows')
    .requiredOption('--file <text>', 'the text, in UTF-8 (required)')
    .addOption(modelOption())
    .option('--window <tokens>', 'tokens that are scored together', integer(2), 512)
    .option('--json', 'print one line of JSON, and nothing else, on stdout', false)
    .action(run);
}

async function run({ model: directory, file, window, json }: PerplexityOptions): Promise<void> {
  const model = await loadModel(directory);
  if (window > model.config.maxPositions) {
    throw new CliError(`--window is ${window}; ${model.name} has positions for ${model.config.maxPositions} tokens.`);
  }
  const ids = model.tokenizer.encode(await readText(file), { addSpecialTokens: false });
  if (ids.length < 2) throw new CliError(`${file} has ${ids.length} tokens; at least 2 are needed.`);
  const pool = windowPool(window);
  const runner = await autoRuntime()(llama()(model, pool.layout), model, pool);
  const progress = createProgress('windows', windowsOf(ids, window).length);
  try {
    const result = await perplexity(runner, ids, window, progress.advance);
    process.stdout.write(json ? `${JSON.stringify({ window, ...result })}\n` : report(window, result));
  } finally {
    progress.stop();
    await runner.dispose();
  }
}

/** @throws CliError */
export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new CliError(`${file} cannot be read: ${error.message}.`);
  });
}

function report(window: number, { perplexity, nllPerToken, tokens, scoredTokens }: Perplexity): string {
  const scored = `${scoredTokens} of ${tokens} tokens scored, in windows of ${window}`;
  return `perplexity ${perplexity.toFixed(4)} (${nllPerToken.toFixed(4)} nats a token; ${scored})\n`;
}
