/** The same benchmark over HTTP: a server is started as a process of its own, and always stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { args, size } from '../support/args.ts';

const WARMUPS = size(3, 1);
const RUNS = size(20, 2);
const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const options = ['serve', '--engine', 'baseline', '--model', args.model, '--port', args.port ?? '0'];
const server = spawn(process.execPath, ['--import', 'tsx', cli, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
const exited = once(server, 'exit');

try {
  const address = await addressOf(server.stdout);
  for (let waited = 0; !(await fetch(`${address}/health`)).ok; waited++) {
    if (waited === 600) throw new Error('the server is not healthy after 60 s');
    await delay(100);
  }
  const request = async (): Promise<number> => {
    const body = JSON.stringify({ prompt: args.prompt, max_tokens: size(40, 4), temperature: 0 });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${address}/v1/completions`, { method: 'POST', headers, body });
    if (!reply.ok) throw new Error(`HTTP ${reply.status}: ${await reply.text()}`);
    return ((await reply.json()) as { usage: { completion_tokens: number } }).usage.completion_tokens;
  };
  for (let run = 0; run < WARMUPS; run++) await request();

  const start = performance.now();
  let tokens = 0;
  for (let run = 0; run < RUNS; run++) tokens += await request();
  const wallMs = performance.now() - start;
  console.log(`
  baseline, online (HTTP)
  ────────────────────────────────────────
  Req/s        : ${((RUNS * 1000) / wallMs).toFixed(2)}
  Tok/s        : ${((tokens * 1000) / wallMs).toFixed(1)}
  Wall time    : ${(wallMs / RUNS).toFixed(0)} ms / request
  Tokens out   : ${(tokens / RUNS).toFixed(0)} (mean of ${RUNS} runs)`);
} finally {
  server.kill('SIGTERM');
  await exited;
}

/** From the line with which the server says where it listens. */
async function addressOf(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const address = /http:\S+:\d+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error('the server ended before it listened');
}
