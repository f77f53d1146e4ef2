import { type AddressInfo, createServer } from 'node:net';
import { firstValueFrom, Subject } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import type { Engine } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { CliError } from './report-error.ts';
import { runServer } from './run-server.ts';

function start(load: () => Promise<Engine>, options: { graceMs?: number; port?: number } = {}) {
  const stop$ = new Subject<void>();
  const lines: string[] = [];
  const { graceMs = 60_000, port = 0 } = options;
  const print = (line: string) => lines.push(line);
  const ended = runServer({ load, host: '127.0.0.1', port, graceMs, stop$, print });
  const address = () => vi.waitUntil(() => /http:\S+:\d+/.exec(lines.join('\n'))?.[0]);
  return { stop: () => stop$.next(), lines, ended, address };
}

const ask = (address: string) =>
  fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'hi' }),
  });

it('opens the port, loads, serves, and on a signal lets the running request finish', async () => {
  const engine = fakeEngine(() => [{ type: 'wait', ms: 100 }, ...say(['ok'])]);
  const loaded = new Subject<Engine>();
  const { stop, lines, ended, address } = start(() => firstValueFrom(loaded));
  const url = await address();
  expect((await fetch(`${url}/health`)).status).toBe(503);
  loaded.next(engine);
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const welcome = lines.at(-1);
  for (const part of [
    'fake-model',
    'fake',
    'scripted',
    '100 blocks of 16 tokens: 1600 tokens',
    `curl -N ${url}/v1/chat`,
  ])
    expect(welcome).toContain(part);

  const running = ask(url);
  await vi.waitFor(() => expect(engine.active).toBe(1));
  stop();
  await vi.waitFor(async () => expect((await ask(url)).status).toBe(503));
  expect(await (await running).json()).toMatchObject({ choices: [{ text: 'ok' }] });
  await ended;
  expect(engine.closed).toBe(true);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

it('waits no longer than the grace period', async () => {
  const engine = fakeEngine(() => [{ type: 'hang' }]);
  const { stop, ended, address } = start(async () => engine, { graceMs: 10 });
  const url = await address();
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const running = ask(url);
  await vi.waitFor(() => expect(engine.active).toBe(1));
  stop();
  await expect(running).rejects.toThrow();
  await ended;
  expect(engine.closed).toBe(true);
});

it('ends with the error when the model cannot be loaded', async () => {
  const error = new RxllmError('RXLLM_MODEL_FILE_INVALID', 'cut short');
  const { ended } = start(() => Promise.reject(error));
  await expect(ended).rejects.toBe(error);
});

it('says in one line that the port is taken', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const { ended } = start(async () => fakeEngine(() => []), { port });
  await expect(ended).rejects.toThrow(
    new CliError(`port ${port} on 127.0.0.1 is taken; stop what listens there, or choose another with --port.`),
  );
  await new Promise((resolve) => other.close(resolve));
});
