import type { Engine, Model } from '../core/contracts/index.ts';
import { createEngine, findEngine } from '../engines/index.ts';
import type { BenchClient, BenchRequest } from './client.ts';
import { engineClient } from './engine-client.ts';
import { type HttpClientOptions, httpClient } from './http-client.ts';
import { runOffline } from './offline.ts';
import { runOnline } from './online.ts';
import { serveCommand, withServer } from './server-process.ts';
import type { Run } from './stats.ts';

/** An engine to be measured, in this process or behind HTTP. */
export interface Contestant {
  readonly name: string;
  readonly client: BenchClient;
  run(request: BenchRequest): Promise<Run>;
}

export interface Line {
  readonly engines: readonly string[];
  readonly model: Model;
  /** So large that a load measures the engine and not the length of its queue. */
  readonly maxQueue: number;
  /** Whether replies over HTTP are streamed. Default true. */
  readonly stream?: boolean;
}

/** Engines in this process, all loaded before the first is measured, closed when `use` settles. */
export async function withEngines<T>(
  { engines, model, maxQueue }: Line,
  use: (contestants: readonly Contestant[]) => Promise<T>,
): Promise<T> {
  const running: Engine[] = [];
  try {
    for (const name of engines) running.push(await createEngine(findEngine(name).recipe, model, { maxQueue }));
    return await use(running.map(inProcess));
  } finally {
    for (const engine of running) await engine.close();
  }
}

export const inProcess = (engine: Engine): Contestant => ({
  name: engine.name,
  client: engineClient(engine),
  run: (request) => runOffline(engine, request),
});

/** A server for each engine, all healthy before the first is measured, stopped when `use` settles. */
export function withServers<T>(
  { engines, ...line }: Line,
  use: (contestants: readonly Contestant[]) => Promise<T>,
  started: readonly Contestant[] = [],
): Promise<T> {
  const [name, ...others] = engines;
  if (name === undefined) return use(started);
  const { model, maxQueue, stream = true } = line;
  const nodeArgs = serveCommand(['--engine', name, '--model', model.directory, '--max-queue', String(maxQueue)]);
  return withServer({ nodeArgs }, ({ url }) =>
    withServers({ engines: others, ...line }, use, [...started, behindHttp(name, url, { stream })]),
  );
}

export const behindHttp = (name: string, url: string, options?: HttpClientOptions): Contestant => {
  const client = httpClient(url, options);
  return { name, client, run: (request) => runOnline(client, request) };
};
