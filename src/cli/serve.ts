import type { Command } from 'commander';
import { fromEvent, merge } from 'rxjs';
import type { Engine, EngineOptions } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { loadModel } from '../core/model/load-model.ts';
import { createEngine, findEngine } from '../engines/index.ts';
import { DEFAULT_ENGINE, EMBEDDED_MODEL, engineName, integer, modelDirectory, notEmpty, number } from './options.ts';
import { runServer } from './run-server.ts';

interface ServeOptions extends Partial<Pick<EngineOptions, 'maxModelLen' | 'maxQueue'>> {
  readonly engine: string;
  readonly model: string;
  readonly host: string;
  readonly port: number;
  readonly apiKey?: string;
  readonly kvCacheMemory?: number;
  readonly blockSize?: number;
  readonly grace: number;
}

/** `rxllm serve`: the OpenAI-compatible server. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('serve a model over an OpenAI-compatible HTTP API')
    .option('--engine <name>', 'one of `rxllm engines`', engineName, DEFAULT_ENGINE)
    .option('--model <dir>', 'a folder in Hugging Face layout', modelDirectory, EMBEDDED_MODEL)
    .option('--port <number>', '0 takes a free one', integer(0, 65_535), 8000)
    .option('--host <address>', 'where to listen; 0.0.0.0 for everyone', notEmpty, '127.0.0.1')
    .option('--api-key <key>', 'ask clients for this bearer token', notEmpty)
    .option('--max-model-len <tokens>', 'prompt and output together', integer(1))
    .option('--kv-cache-memory <MiB>', 'memory for keys and values; default: what fits and can be used', integer(1))
    .option('--block-size <tokens>', 'tokens a block of the KV cache, where it has blocks', integer(1))
    .option('--max-queue <requests>', 'requests that may wait; one more gets 429', integer(1))
    .option('--grace <seconds>', 'how long running requests may go on after SIGTERM', number(0, 3600), 10)
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const { host, port, apiKey, grace } = options;
  await runServer({
    load: () => loadEngine(options),
    host,
    port,
    ...(apiKey !== undefined && { apiKey }),
    graceMs: grace * 1000,
    stop$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM')),
    print: (line) => process.stdout.write(`${line}\n`),
  });
}

async function loadEngine({
  engine: name,
  model,
  maxModelLen,
  maxQueue,
  kvCacheMemory,
  blockSize,
}: ServeOptions): Promise<Engine> {
  const engine = await createEngine(findEngine(name).recipe, await loadModel(model), {
    ...(maxModelLen !== undefined && { maxModelLen }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(kvCacheMemory !== undefined && { kvCacheMemoryMiB: kvCacheMemory }),
    ...(blockSize !== undefined && { blockSize }),
  });
  if (blockSize === undefined || engine.pool.layout === 'paged') return engine;
  await engine.close();
  throw new RxllmError('RXLLM_OPTION_INVALID', `blockSize: the cache of ${name} has no blocks; leave it out.`, {
    param: 'blockSize',
  });
}
