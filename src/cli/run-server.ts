import type { FastifyInstance } from 'fastify';
import { firstValueFrom, from, map, type Observable, race, timer } from 'rxjs';
import type { Engine, KvPool } from '../core/contracts/index.ts';
import { engines as allEngines, createEngineHost } from '../engines/index.ts';
import { buildServer, isLoopback, type ServerOptions } from '../transport/index.ts';
import { CliError } from './report-error.ts';

/** What requests that an engine's end has cut short still get to be written to their sockets. */
const LAST_WORDS_MS = 1000;

/** What a running step gets to end, and then a model that still loads: neither can be stopped half-way. */
const CLOSE_MS = 10_000;

export interface ServerRun {
  /** Makes an engine from its name. */
  readonly start: (name: string) => Promise<Engine>;
  /** The first to serve. */
  readonly engine: string;
  readonly host: string;
  readonly port: number;
  readonly server?: Omit<ServerOptions, 'admin'>;
  readonly graceMs: number;
  /** The first value begins the shutdown. */
  readonly stop$: Observable<unknown>;
  readonly print: (line: string) => void;
  readonly warn: (message: string) => void;
  /** Ends the process with this code, whatever still runs in it. */
  readonly exit: (code: number) => void;
  /** Milliseconds in which the engine must close; default 10 s. */
  readonly closeMs?: number;
}

/**
 * Listens, loads, serves, and resolves when it has shut down: new requests are refused, those under way get the grace
 * period, then the engine is closed, which ends what is left with `abort`. A process that a step which does not end keeps
 * alive is ended by `exit(1)`, and one in which a model still loads by `exit(0)`. The port opens first, so that `/health`
 * can tell that the model is loading; a stop meanwhile takes effect at once.
 * @throws CliError when it cannot listen; RxllmError when the model cannot be loaded
 */
export async function runServer(run: ServerRun): Promise<void> {
  const { start, engine: first, host, port, server = {}, graceMs, stop$, print, warn, exit, closeMs = CLOSE_MS } = run;
  const hasApiKey = (server.apiKeys ?? []).length > 0;
  const engines = createEngineHost(start);
  const names = allEngines.map(({ recipe }) => recipe.name);
  const swap = async (name: string) => {
    const engine = await engines.swap(name);
    print(`Now serving with ${engine.name}.`);
    return engine;
  };
  const app = buildServer(engines, { ...server, admin: { names, swap } });
  try {
    const address = await listen(app, host, port);
    if (!hasApiKey && !isLoopback(host)) {
      warn(`anyone who can reach ${host} can use this server; ask for a key with --api-key, or listen on 127.0.0.1.`);
    }
    // Listened for from now on, so that a signal while the model is loading is not lost.
    const stopped = firstValueFrom(stop$);
    print(`Listening at ${address}, loading the model …`);
    const loading = engines.swap(first);
    const engine = await Promise.race([loading, stopped.then(() => undefined)]);
    if (engine !== undefined) {
      print(welcome(engine, address, hasApiKey));
      await stopped;
      print('Shutting down: waiting for running requests …');
      await app.drain(graceMs);
    }
    if (await isWithin(closeMs, engines.close())) {
      // A model that still loads keeps the process alive, but not for long.
      setTimeout(exit, closeMs, 0).unref();
    } else {
      warn(`a step of the engine has not ended within ${closeMs / 1000} s; the process ends without it.`);
      setTimeout(exit, LAST_WORDS_MS, 1);
    }
    await app.drain(LAST_WORDS_MS);
  } finally {
    await app.close();
  }
}

const isWithin = (ms: number, done: Promise<void>): Promise<boolean> =>
  firstValueFrom(race(from(done).pipe(map(() => true)), timer(ms).pipe(map(() => false))));

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new CliError(`port ${port} on ${host} is taken; stop what listens there, or choose another with --port.`);
    }
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new CliError(`cannot listen on ${host}, port ${port} (${message}); change --host or --port.`);
    }
    throw error;
  }
}

/** What the pool can give out: block 0 of a paged one is for padding. */
function memory({ layout, blocks, blockSize }: KvPool): string {
  const usable = layout === 'paged' ? blocks - 1 : blocks;
  const unit = `${layout === 'paged' ? 'block' : 'region'}${usable === 1 ? '' : 's'}`;
  return `${usable} ${unit} of ${blockSize} tokens: ${usable * blockSize} tokens`;
}

function welcome({ name, description, pool, model, options }: Engine, address: string, withKey: boolean): string {
  const key = withKey ? " -H 'Authorization: Bearer YOUR_KEY'" : '';
  const body =
    '{"messages":[{"role":"user","content":"Tell me a story about a brave cat."}],"max_tokens":200,"stream":true}';
  return `
  model    ${model.name}, up to ${options.maxModelLen} tokens
  engine   ${name}
  runtime  ${description}
  memory   ${memory(pool)}

Try it:
  ${address} in a browser is a playground: chat, and watch the engine at work
  curl -N ${address}/v1/chat/completions -H 'Content-Type: application/json'${key} -d '${body}'

Or point any OpenAI client at ${address}/v1. There are also POST /v1/completions, /tokenize and /detokenize,
GET /v1/models, /health, /metrics and /openapi.json (all of this), PUT /admin/engine to swap the engine while it runs,
GET /admin/observe to see its steps, and many token streams on one WebSocket at ${address.replace('http', 'ws')}/v1/stream.
Ctrl-C stops the server.`;
}
