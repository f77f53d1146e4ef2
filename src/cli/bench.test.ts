import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';

const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url));

/** Parses a command line that must be refused. */
async function refused(...args: string[]): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  const write = (message: string) => {
    stderr += message;
  };
  const program = createProgram();
  for (const command of program.commands) command.configureOutput({ writeErr: write });
  const error = await program.parseAsync(['bench', ...args], { from: 'user' }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CommanderError);
  return { code: reportError(error, write), stderr };
}

describe('a wrong option exits 2 with the option, the value and what is allowed', () => {
  const two = ['--engine', 'kv-cache,kv-cache'];
  it.each([
    [['--engine', 'kv-cache,warp'], '--engine', 'kv-cache,warp', 'kv-cache'],
    [['--runs', '0'], '--runs', '0', 'a whole number of at least 1'],
    [[...two, '--runs', '6'], '--runs', '6', 'a whole number of at least 7 where engines are compared'],
    [['--prompt-len', 'normal:3'], '--prompt-len', 'normal:3', 'N, uniform:MIN-MAX or log-uniform:MIN-MAX'],
    [['--output-len', 'uniform:9-8'], '--output-len', 'uniform:9-8', 'N, uniform:MIN-MAX or log-uniform:MIN-MAX'],
    [['--request-rate', '0'], '--request-rate', '0', 'a number above 0; inf for all at once'],
    [['--request-rate', 'workload'], '--request-rate', 'workload', 'workload only together with --workload'],
    [['--max-concurrency', '-1'], '--max-concurrency', '-1', 'a whole number of at least 1'],
    [['--goodput', 'itl:3'], '--goodput', 'itl:3', 'a list of ttft:MS, tpot:MS and e2e:MS'],
  ])('%j', async (args, option, value, allowed) => {
    const { code, stderr } = await refused('offline', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(option);
    expect(stderr).toContain(`argument '${value}' is invalid. Allowed: `);
    expect(stderr).toContain(allowed);
  });

  it.each([
    [['sideline'], "'sideline' is invalid for argument 'offline|online'. Allowed choices are offline, online."],
    [[], "missing required argument 'offline|online'"],
    [['offline', '--engine', 'kv-cache,warp'], ", speculative. There is no 'warp'.\n"],
    [['offline', '--engine', 'kv-cache,paged'], "There is no 'paged'. Did you mean paged-attention?\n"],
    [['offline', '--prompt', 'x', '--requests', '3'], "'--prompt <text>' cannot be used with option '--requests"],
    [['offline', '--workload', 'w', '--prompt-len', '3'], "'--workload <file>' cannot be used with option '--prompt"],
  ])('%j', async (args, message) => {
    const { code, stderr } = await refused(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('the program itself, on the embedded model', () => {
  async function bench(...args: string[]) {
    const directory = await mkdtemp(join(tmpdir(), 'rxllm-'));
    const file = join(directory, 'results.json');
    try {
      const child = spawn(process.execPath, ['--import', 'tsx', CLI, 'bench', ...args, '--json', file], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const exited = once(child, 'exit');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      expect({ stderr, code: (await exited)[0] }).toMatchObject({ code: 0 });
      return { stdout, stderr, results: JSON.parse(await readFile(file, 'utf8')) };
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  it('names the option of prompts that are longer than the context', async () => {
    const error = await createProgram()
      .parseAsync(['bench', 'offline', '--prompt-len', 'uniform:8-4000'], { from: 'user' })
      .catch((reason: unknown) => reason);
    let stderr = '';
    const code = reportError(error, (message) => {
      stderr += message;
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: --prompt-len: prompts of 4000 tokens .* context has 2048\.\n$/);
  });

  it('offline, one prompt', async () => {
    const { stdout, stderr, results } = await bench('offline', '--runs', '2', '--warmup', '1', '--max-tokens', '4');
    expect(stdout).toMatch(/kv-cache — offline \(in process\)\n.*─\n {2}Req\/s {11}: \d+\.\d\d\n/);
    expect(stdout).toContain('Tokens out      : 4 (avg over 2 runs)');
    const done = [1, 2].map((run) => `run ${run} of 2 is done: kv-cache\n`);
    expect(stderr).toBe(`offline: kv-cache: 2 runs × 1 request × up to 4 tokens\n${done.join('')}`);
    expect(results).toMatchObject({
      command: expect.stringContaining('rxllm bench offline --runs 2'),
      mode: 'offline',
      model: 'storyteller-12m',
      max_tokens: 4,
      runs: 2,
      results: [
        {
          engine: 'kv-cache',
          stats: { nRuns: 2, outputTokens: 4, wallTimes: [expect.any(Number), expect.any(Number)] },
        },
      ],
    });
  });

  it('online, a load on its own server', async () => {
    const load = ['--requests', '3', '--prompt-len', 'uniform:4-8', '--output-len', '3', '--warmup', '0'];
    const { stdout, stderr, results } = await bench(
      'online',
      ...load,
      '--request-rate',
      '200',
      '--goodput',
      'e2e:60000',
    );
    expect(stdout).toContain('kv-cache — online (HTTP), random tokens × 3\n');
    expect(stdout).toContain('Requests        : 3 completed, 0 cancelled, 0 failed\n');
    expect(stderr).toBe('online: kv-cache: 1 run × 3 requests × up to 3 tokens\nrun 1 of 1 is done: kv-cache\n');
    expect(results).toMatchObject({
      request_rate: 200,
      seed: 0,
      goodput: { e2e: 60_000 },
      results: [{ stats: { completed: 3, outputTokens: 9 } }],
    });
  });
});
