import { type AddressInfo, createServer } from 'node:net';
import { concatMap, filter, firstValueFrom, NEVER, Subject, tap } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { TestSocket } from '../../test/support/socket.ts';
import { eventually, PATIENCE_MS } from '../../test/support/waiting.ts';
import type { Computed, Engine, Slot } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { CliError } from './report-error.ts';
import { runServer } from './run-server.ts';

function start(
  load: () => Promise<Engine>,
  options: { graceMs?: number; closeMs?: number; port?: number; host?: string; apiKeys?: string[] } = {},
) {
  const stop$ = new Subject<void>();
  const lines: string[] = [];
  const warnings: string[] = [];
  const exits: number[] = [];
  const { graceMs = 60_000, closeMs = PATIENCE_MS, port = 0, host = '127.0.0.1', apiKeys = [] } = options;
  const print = (line: string) => lines.push(line);
  const warn = (message: string) => warnings.push(message);
  const ended = runServer({
    start: load,
    engine: 'fake',
    host,
    port,
    server: { apiKeys },
    graceMs,
    stop$,
    print,
    warn,
    exit: (code) => exits.push(code),
    closeMs,
  });
  const address = () => vi.waitUntil(() => /http:\S+:\d+/.exec(lines.join('\n'))?.[0], PATIENCE_MS);
  return { stop: () => stop$.next(), lines, warnings, exits, ended, address };
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
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const welcome = lines.at(-1);
  for (const part of [
    'fake-model',
    'fake',
    'scripted',
    '100 blocks of 16 tokens: 1600 tokens',
    `${url} in a browser`,
    `curl -N ${url}/v1/chat`,
  ])
    expect(welcome).toContain(part);

  const running = ask(url);
  await eventually(() => expect(engine.active).toBe(1));
  stop();
  await eventually(async () => expect((await ask(url)).status).toBe(503));
  expect(await (await running).json()).toMatchObject({ choices: [{ text: 'ok' }] });
  await ended;
  expect(engine.closed).toBe(true);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

it('waits no longer than the grace period', async () => {
  const engine = fakeEngine(() => [{ type: 'hang' }]);
  const { stop, ended, address } = start(async () => engine, { graceMs: 10 });
  const url = await address();
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const running = ask(url);
  await eventually(() => expect(engine.active).toBe(1));
  stop();
  await expect(running).rejects.toThrow();
  await ended;
  expect(engine.closed).toBe(true);
});

it('ends what is left after the grace period with a proper last message', async () => {
  const { engine } = await scriptedEngine({ next: () => 3, delayMs: 20 });
  const { stop, ended, address } = start(async () => engine, { graceMs: 50 });
  const url = await address();
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const endless = { prompt: 'abc', deadline_ms: 60_000 };
  const post = (body: object) =>
    fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...endless, ...body }),
    });
  const socket = await new TestSocket(url).opened();
  const streamed = await post({ stream: true });
  const whole = post({});
  socket.send({ type: 'generate', id: 'a', ...endless });
  await firstValueFrom(engine.stats$.pipe(filter(({ waiting }) => waiting === 2)));
  stop();
  const events = (await streamed.text()).split('\n\n').filter((event) => event !== '');
  expect(JSON.parse(events.at(-2)!.slice('data: '.length)).choices[0]).toMatchObject({
    text: '',
    finish_reason: 'abort',
  });
  expect(events.at(-1)).toBe('data: [DONE]');
  expect(await (await whole).json()).toMatchObject({ choices: [{ finish_reason: 'abort' }] });
  expect(await socket.end('a')).toMatchObject({ type: 'finished', finish_reason: 'abort' });
  expect(await socket.closed).toBe(1001);
  await ended;
});

it('ends the process where a stage of its own never ends its step', async () => {
  const reached$ = new Subject<void>();
  const decode: Slot<Computed, Computed> = () => (step$) =>
    step$.pipe(
      tap(() => reached$.next()),
      concatMap(() => NEVER),
    );
  const { engine } = await scriptedEngine({}, {}, { decode });
  const { stop, ended, address, warnings, exits } = start(async () => engine, { graceMs: 0, closeMs: 50 });
  const url = await address();
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const reached = firstValueFrom(reached$);
  const cut = expect(ask(url)).rejects.toThrow();
  await reached;
  stop();
  await cut;
  await ended;
  expect(warnings).toEqual([expect.stringMatching(/^a step of the engine has not ended within 0.05 s/)]);
  await eventually(() => expect(exits).toEqual([1]));
});

it('ends the process where the model is still loading long after the stop', async () => {
  const { stop, ended, address, exits } = start(() => new Promise(() => {}), { closeMs: 50 });
  await address();
  stop();
  await ended;
  await eventually(() => expect(exits).toEqual([0]));
});

it('stops at once while the model is loading, and lets go of it when it comes', async () => {
  const engine = fakeEngine(() => []);
  const loaded = new Subject<Engine>();
  const { stop, ended, address } = start(() => firstValueFrom(loaded));
  await address();
  stop();
  await ended;
  loaded.next(engine);
  await eventually(() => expect(engine.closed).toBe(true));
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

it('says which engine serves after a swap', async () => {
  const { stop, lines, ended, address } = start(async () => fakeEngine(() => []));
  const url = await address();
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const init = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"engine":"kv-cache"}' };
  expect((await fetch(`${url}/admin/engine`, init)).status).toBe(200);
  expect(lines.at(-1)).toBe('Now serving with fake.');
  stop();
  await ended;
});

it.each([
  ['127.0.0.1', [], 0],
  ['localhost', [], 0],
  ['0.0.0.0', [], 1],
  ['0.0.0.0', ['secret'], 0],
])('on %s with the keys %j, warns %i times', async (host, apiKeys, times) => {
  const { stop, warnings, ended, address } = start(async () => fakeEngine(() => []), { host, apiKeys });
  await address();
  expect(warnings).toHaveLength(times);
  for (const warning of warnings) expect(warning).toMatch(/^anyone .*--api-key[^\n]*$/);
  stop();
  await ended;
});
