import { request as httpRequest } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { VirtualTimeScheduler } from 'rxjs';
import { expect } from 'vitest';
import type {
  Engine,
  EngineOptions,
  EngineStats,
  KvAllocator,
  Model,
  StagedRecipe,
} from '../../src/core/contracts/index.ts';
import { contiguousSlots } from '../../src/core/memory/contiguous-slots.ts';
import { loadModel } from '../../src/core/model/load-model.ts';
import { type Script, type ScriptedRunner, scriptedRuntime } from '../../src/core/runtime/scripted-runner.ts';
import { createEngine } from '../../src/engines/create-engine.ts';
import { kvCache } from '../../src/engines/kv-cache.ts';
import { swap } from '../../src/engines/swap.ts';
import { buildServer, type ServerOptions } from '../../src/transport/server.ts';
import { modelDirectory } from './models.ts';
import { eventData, type Reply } from './replies.ts';
import { silent } from './silent.ts';
import { TestSocket } from './socket.ts';
import { turns, until } from './waiting.ts';

export const embeddedModel = (): Promise<Model> => loadModel(modelDirectory('storyteller-12m'));

/** A server on a port of its own, and what a client does with it. */
export interface RealServer {
  readonly engine: Engine;
  readonly app: FastifyInstance;
  readonly address: string;
  /** The latest of the engine's stats. */
  stats(): EngineStats | undefined;
  fetch(path: string, body: object, init?: RequestInit): Promise<Response>;
  post(
    path: string,
    body: object,
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Reply }>;
  /** The data of each event; the last is `[DONE]` where the reply ends well. */
  events(path: string, body: object): Promise<string[]>;
  /** An open socket at `/v1/stream`. */
  socket(): Promise<TestSocket>;
  close(): Promise<void>;
}

export async function serveEngine(engine: Engine, options?: ServerOptions): Promise<RealServer> {
  const app = buildServer({ engine: () => engine }, { logger: silent, ...options });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  let latest: EngineStats | undefined;
  engine.stats$.subscribe((stats) => {
    latest = stats;
  });
  const send = (path: string, body: object, init: RequestInit = {}) =>
    fetch(address + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...init,
    });
  return {
    engine,
    app,
    address,
    stats: () => latest,
    fetch: send,
    post: async (path, body) => {
      const reply = await send(path, body);
      return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Reply };
    },
    events: async (path, body) => eventData(await (await send(path, { ...body, stream: true })).text()),
    socket: () => new TestSocket(address).opened(),
    close: async () => {
      await app.close();
      await engine.close();
    },
  };
}

/** The real server on the embedded model. */
export async function serveEmbedded(
  options: Partial<EngineOptions> = {},
  change: Partial<Omit<StagedRecipe, 'kind' | 'name'>> = {},
): Promise<RealServer> {
  return serveEngine(
    await createEngine(swap(kvCache, { name: kvCache.name, ...change }), await embeddedModel(), options),
  );
}

export interface ScriptedServer extends RealServer {
  readonly runner: ScriptedRunner;
  readonly kv: KvAllocator;
}

/** The real engine and server on a script, with the tokenizer of `model` (the embedded one). */
export async function serveScript(
  script: Script,
  {
    model,
    options = {},
    ...change
  }: { model?: Model; options?: Partial<EngineOptions> } & Partial<Omit<StagedRecipe, 'kind' | 'model'>> = {},
): Promise<ScriptedServer> {
  const runtime = scriptedRuntime(script);
  const kvs: KvAllocator[] = [];
  const recipe = swap(kvCache, {
    name: 'scripted',
    runtime,
    ...change,
    kv: (...args) => {
      const kv = (change.kv ?? contiguousSlots({ slots: 1 }))(...args);
      kvs.push(kv);
      return kv;
    },
  });
  const engine = await createEngine(recipe, model ?? (await embeddedModel()), options);
  return { ...(await serveEngine(engine)), runner: runtime.runners[0]!, kv: kvs[0]! };
}

/** A script whose passes take until `pass()` ends them, which waits for one to begin. */
export function steppedBy(script: Script) {
  const clock = new VirtualTimeScheduler();
  const isRunning = () => clock.actions.length > 0;
  return {
    script: { ...script, clock, delayMs: 1 },
    isRunning,
    pass: async () => {
      await until(isRunning);
      clock.flush();
    },
  };
}

/** A request on a connection of its own, whose client can go away. */
export function leavingClient({ address }: RealServer, path: string, body: object) {
  const request = httpRequest(address + path, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json' },
  });
  let received = '';
  request.on('response', (response) => response.on('data', (data) => (received += data)).on('error', () => {}));
  request.on('error', () => {});
  request.end(JSON.stringify(body));
  return {
    events: () => eventData(received),
    leave: () => {
      request.destroy();
    },
  };
}

/** Resolves when no client is connected any more, as far as the server knows, and it has heard the news. */
export async function allGone({ app }: RealServer): Promise<void> {
  await until(() => new Promise<boolean>((resolve) => app.server.getConnections((_, count) => resolve(count === 0))));
  await turns();
}

/** Nothing runs or waits, nothing is held, and nothing begins any more. */
export async function expectIdle(server: ScriptedServer): Promise<void> {
  await until(() => server.stats()?.running === 0 && server.stats()?.waiting === 0);
  expect(server.kv.used).toBe(0);
  server.kv.checkInvariants();
  const ran = server.runner.calls.length;
  await turns();
  expect(server.runner.calls).toHaveLength(ran);
}
