import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TestSocket } from '../../test/support/socket.ts';
import { eventually } from '../../test/support/waiting.ts';
import { engines } from '../engines/index.ts';

const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url));

/** The program itself, on the embedded model. */
function rxllm(...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, exited: once(child, 'exit').then(([code]) => code as number) };
}

async function finish({ child, exited }: { child: ChildProcess; exited: Promise<number> }) {
  const [stdout, stderr, code] = await Promise.all([text(child.stdout!), text(child.stderr!), exited]);
  return { stdout, stderr, code };
}

async function printedUntil(child: ChildProcess, mark: string): Promise<string> {
  let printed = '';
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    if (printed.includes(mark)) break;
  }
  return printed;
}

it('generates the reference’s ids as one line of JSON', async () => {
  const goldens = JSON.parse(
    readFileSync(new URL('../../models/goldens/storyteller-12m.generation.json', import.meta.url), 'utf8'),
  );
  const { prompt, greedy_ids: ids } = goldens.cases[0];
  const { stdout, stderr, code } = await finish(rxllm('generate', '--prompt', prompt, '--max-tokens', '8', '--json'));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(stdout)).toMatchObject({
    engine: 'kv-cache',
    output_ids: ids.slice(0, 8),
    finish_reason: 'length',
    metrics: { output_tokens: 8 },
  });
});

it('exits 2 with the reason on stderr when the command line is wrong', async () => {
  const { stdout, stderr, code } = await finish(rxllm('generate', '--prompt', 'x', '--engine', 'warp'));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  const allowed = engines.map(({ recipe }) => recipe.name).join(', ');
  expect(stderr).toBe(`error: option '--engine <name>' argument 'warp' is invalid. Allowed: ${allowed}.\n`);
});

it('exits 1 by itself where its port is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { stderr, code } = await finish(rxllm('serve', '--port', String(port)));
  other.close();
  expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(`port ${port} on 127.0.0.1 is taken`), code: 1 });
});

it('serves, and exits 0 by itself on SIGTERM after the running request', async () => {
  const { child, exited } = rxllm('serve', '--port', '0');
  const printed = await printedUntil(child, 'Try it:');
  const address = /http:\S+:\d+/.exec(printed)?.[0];
  expect(printed).toContain(`curl -N ${address}/v1/chat/completions`);
  const reply = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      max_tokens: 40,
      ignore_eos: true,
      stream: true,
    }),
  });
  const body = reply.text();
  child.kill('SIGTERM');
  expect((await body).endsWith('data: [DONE]\n\n')).toBe(true);
  expect(await body).toContain('"finish_reason":"length"');
  expect(await exited).toBe(0);
});

it('swaps to engines that have no use for the limits of the first', async () => {
  const limits = [
    '--max-num-seqs',
    '2',
    '--max-num-batched-tokens',
    '64',
    '--block-size',
    '8',
    '--kv-cache-memory',
    '64',
  ];
  const { child, exited } = rxllm('serve', '--port', '0', '--engine', 'prefix-caching', ...limits);
  const address = /http:\S+:\d+/.exec(await printedUntil(child, 'Try it:'))![0];
  const send = (method: string, path: string, body: object) =>
    fetch(address + path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  for (const engine of ['static-batching', 'kv-cache', 'baseline']) {
    expect([engine, (await send('PUT', '/admin/engine', { engine })).status]).toEqual([engine, 200]);
    const reply = await send('POST', '/v1/completions', { prompt: 'Once', max_tokens: 2, ignore_eos: true });
    expect(await reply.json()).toMatchObject({ usage: { completion_tokens: 2 } });
  }
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
});

it('ends what is left after the grace period with its last words, and exits 0 by itself', async () => {
  const { child, exited } = rxllm('serve', '--port', '0', '--grace', '0.1');
  const address = /http:\S+:\d+/.exec(await printedUntil(child, 'Try it:'))![0];
  const endless = { prompt: 'Once', ignore_eos: true, max_tokens: 2000 };
  const reply = await fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...endless, stream: true }),
  });
  const [idle, busy] = await Promise.all([new TestSocket(address).opened(), new TestSocket(address).opened()]);
  busy.send({ type: 'generate', id: 'a', ...endless });
  await busy.next(({ type }) => type === 'queued');
  const body = reply.text();
  child.kill('SIGTERM');
  expect(await idle.closed).toBe(1001);
  expect(await body).toMatch(/"finish_reason":"abort"[^\n]*\n\ndata: \[DONE\]\n\n$/);
  expect(await busy.end('a')).toMatchObject({ type: 'finished', finish_reason: 'abort' });
  expect(await busy.closed).toBe(1001);
  expect(await exited).toBe(0);
});

it('goes on serving when nobody reads what it prints', async () => {
  const { child, exited } = rxllm('serve', '--port', '0');
  const address = /http:\S+:\d+/.exec(await printedUntil(child, 'Listening'))![0];
  child.stdout.destroy();
  await eventually(async () => expect((await fetch(`${address}/health`)).status).toBe(200));
  child.kill('SIGTERM');
  expect(await text(child.stderr)).toBe('');
  expect(await exited).toBe(0);
});

it('exits 0 on SIGTERM while the model is loading', async () => {
  const { child, exited } = rxllm('serve', '--port', '0');
  const printed = await printedUntil(child, 'Listening');
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(printed).not.toContain('Try it:');
});
