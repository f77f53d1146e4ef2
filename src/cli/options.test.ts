import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { EMBEDDED_MODEL } from './options.ts';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

/** Parses a command line that must be refused. */
async function refused(...args: string[]): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  const write = (text: string) => {
    stderr += text;
  };
  const program = createProgram();
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: write, writeOut: write });
  const error = await program.parseAsync(args, { from: 'user' }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CommanderError);
  return { code: reportError(error, write), stderr };
}

const generate = ['generate', '--prompt', 'hi'];

describe('a wrong option exits 2 with the option, the value and what is allowed', () => {
  it.each([
    [[...generate, '--max-tokens', 'ten'], '--max-tokens', "'ten'", 'a whole number of at least 1'],
    [[...generate, '--max-tokens', '0'], '--max-tokens', "'0'", 'a whole number of at least 1'],
    [[...generate, '--max-tokens', '1.5'], '--max-tokens', "'1.5'", 'a whole number of at least 1'],
    [[...generate, '--temperature', '2.1'], '--temperature', "'2.1'", 'a number from 0 to 2'],
    [[...generate, '--temperature', ''], '--temperature', "''", 'a number from 0 to 2'],
    [[...generate, '--top-k', '-2'], '--top-k', "'-2'", 'a whole number of at least -1'],
    [[...generate, '--top-p', 'NaN'], '--top-p', "'NaN'", 'a number from 0 to 1'],
    [[...generate, '--seed', '1e3'], '--seed', "'1e3'", 'a whole number between -2^53 and 2^53.'],
    [[...generate, '--engine', 'warp'], '--engine', "'warp'", 'kv-cache'],
    [
      [...generate, '--model', 'no/such/model'],
      '--model',
      "'no/such/model'",
      'config.json, tokenizer.json and model.safetensors. This one does not exist.',
    ],
    [[...generate, '--model', 'src'], '--model', "'src'", 'This one has no config.json.'],
    [['serve', '--port', '65536'], '--port', "'65536'", 'a whole number from 0 to 65535'],
    [['serve', '--api-key', ' '], '--api-key', "' '", 'printable ASCII'],
    [['serve', '--allowed-host', 'a.example:80'], '--allowed-host', "'a.example:80'", 'without a port'],
    [['serve', '--cors-origin', 'a.example'], '--cors-origin', "'a.example'", 'https://example.com'],
    [['serve', '--log-level', 'loud'], '--log-level', "'loud'", 'debug, info'],
    [['serve', '--kv-cache-memory', '0'], '--kv-cache-memory', "'0'", 'a whole number of at least 1'],
    [['serve', '--grace', '-1'], '--grace', "'-1'", 'a number from 0 to 3600'],
  ])('%j', async (args, option, value, allowed) => {
    const { code, stderr } = await refused(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(option);
    expect(stderr).toContain(`argument ${value} is invalid. Allowed: `);
    expect(stderr).toContain(allowed);
  });

  it.each([
    [['generate'], "required option '--prompt <text>' not specified"],
    [[...generate, '--colour'], "unknown option '--colour'"],
    [['generate', '--promt', 'hi'], "unknown option '--promt'"],
    [['fly'], "unknown command 'fly'"],
    [['generate', 'Once upon'], "unexpected argument 'Once upon'. Give the text with --prompt"],
    [[...generate, 'a', 'time'], "unexpected argument 'a'. Give the text with --prompt, in quotation marks.\n"],
    [
      ['serve', './models/small'],
      "unexpected argument './models/small'. Give a model's folder with --model; behind npm start, options come after",
    ],
    [['serve', '18245'], 'options come after --: npm start -- --port 18245.\n'],
    [[...generate, '--engine', 'continuous'], ', speculative. Did you mean continuous-batching?\n'],
    [[...generate, '--engine', 'staticBatch'], 'Did you mean static-batching?\n'],
    [[...generate, '--engine', ''], ', speculative.\n'],
  ])('%j', async (args, message) => {
    const { code, stderr } = await refused(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

it.each(['generate', 'serve', 'bench', 'perplexity', 'profile', 'quantize', 'export'])(
  'the help of %s names no path of this machine',
  async (name) => {
    const { stderr } = await refused(name, '--help');
    expect(stderr).toMatch(/--model <dir> +a folder in Hugging Face layout \(default:\s+the\s+embedded\s+model\)/);
    expect(stderr).not.toContain(process.cwd());
  },
);

it('shows no argument where there is none', async () => {
  const { stderr } = await refused('--help');
  expect(stderr).toMatch(/ serve \[options\] {2,}/);
  expect((await refused('serve', '--help')).stderr).toMatch(/^Usage: rxllm serve \[options\]\n/);
});

it('prints help with code 0', async () => {
  const { code, stderr } = await refused('generate', '--help');
  expect(code).toBe(0);
  expect(stderr).toMatch(/--max-tokens <number> +tokens to generate at most \(default: 1024\)/);
});

describe('what a model or an engine does not allow is told before the server listens', () => {
  it.each([
    [['--max-model-len', '5000'], '--max-model-len: 5000 is not a whole number from 1 to 2048.'],
    [
      ['--kv-cache-memory', '1', '--engine', 'static-batching'],
      '--kv-cache-memory 1 is too small: one sequence of --max-model-len 2048 tokens needs 16 MiB. ' +
        'Raise --kv-cache-memory or lower --max-model-len.',
    ],
    [
      ['--block-size', '8'],
      '--block-size: the cache of kv-cache has no blocks; leave it out, or take --engine paged-attention, ' +
        'prefix-caching, speculative.',
    ],
    [
      ['--max-num-seqs', '1000'],
      '--max-num-seqs: kv-cache runs one sequence at a time; leave it out, or take --engine static-batching, ',
    ],
    [
      ['--engine', 'static-batching', '--max-num-batched-tokens', '64'],
      '--max-num-batched-tokens: static-batching runs each prompt whole; leave it out, or take --engine kv-cache, ',
    ],
    [
      ['--engine', 'transformer', '--kv-cache-memory', '1'],
      '--kv-cache-memory: transformer keeps no keys and values; leave it out, or take --engine kv-cache, ',
    ],
    [['--engine', 'paged-attention', '--block-size', '4000'], '--block-size: 4000 is not a whole number from 1 to'],
    [['--draft-model', EMBEDDED_MODEL], '--draft-model: kv-cache drafts nothing; leave it out, or take'],
    [['--engine', 'int4', '--quantize', 'int8'], '--quantize: it would replace the graph that makes the engine int4;'],
    [
      ['--engine', 'flash-attention', '--quantize', 'int4'],
      '--quantize: it would replace the graph that makes the engine flash',
    ],
    [['--engine', 'baseline', '--record', 'x'], '--engine: "baseline" is one box, without steps to record'],
  ])('%j', async (args, message) => {
    const error = await createProgram()
      .parseAsync(['serve', '--port', '0', ...args], { from: 'user' })
      .catch((reason: unknown) => reason);
    let stderr = '';
    const code = reportError(error, (text) => {
      stderr += text;
    });
    expect(code).toBe(2);
    expect(stderr).toContain(`error: ${message}`);
  });
});
