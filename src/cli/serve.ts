import { type Command, Option } from 'commander';
import type { Engine, EngineOptions, Model } from '../core/contracts/index.ts';
import { loadConfigAndWeights, loadModel } from '../core/model/load-model.ts';
import { createTurns } from '../core/runtime/turns.ts';
import { createEngine, findEngine, findStages } from '../engines/index.ts';
import { resolveOptions } from '../engines/options.ts';
import { SERVER_LIMITS, type ServerOptions, WEBSOCKET_LIMITS } from '../transport/index.ts';
import { checkLimitsTakeEffect } from './engine-limits.ts';
import { createLogger, LOG_LEVELS, type LogLevel } from './logger.ts';
import {
  changedSlots,
  checkDraftModel,
  draftModelOption,
  type ModelOptions,
  modelOption,
  quantizeOption,
} from './model-options.ts';
import {
  allowedHost,
  apiKeys,
  corsOrigin,
  DEFAULT_ENGINE,
  engineName,
  integer,
  notEmpty,
  number,
  oneOf,
  optionsOnly,
  several,
} from './options.ts';
import { checkRecordable, recordedEngine } from './recorded-engine.ts';
import { runServer } from './run-server.ts';
import { stopSignals } from './stop-signals.ts';

type Limits = Pick<EngineOptions, 'maxModelLen' | 'maxQueue' | 'maxNumSeqs' | 'maxNumBatchedTokens'>;

interface ServeOptions extends Partial<Limits>, ModelOptions {
  readonly engine: string;
  readonly model: string;
  readonly host: string;
  readonly port: number;
  readonly apiKey?: readonly string[];
  readonly corsOrigin?: readonly string[];
  readonly allowedHost?: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxMessageBytes: number;
  readonly maxConnections: number;
  readonly maxStreams: number;
  readonly logLevel: LogLevel;
  readonly logInterval: number;
  readonly kvCacheMemory?: number;
  readonly blockSize?: number;
  readonly grace: number;
  readonly record?: string;
}

/** `rxllm serve`: the OpenAI-compatible server. */
export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .description('serve a model over an OpenAI-compatible HTTP API')
    .option('--engine <name>', 'one of `rxllm engines`', engineName, DEFAULT_ENGINE)
    .addOption(modelOption())
    .option('--port <number>', '0 takes a free one', integer(0, 65_535), 8000)
    .option('--host <address>', 'where to listen; 0.0.0.0 for everyone', notEmpty, '127.0.0.1')
    .addOption(
      new Option('--api-key <key>', 'ask clients for this bearer token, or another one; may be given several times')
        .env('RXLLM_API_KEY')
        .argParser(apiKeys),
    )
    .option(
      '--cors-origin <origin>',
      'let pages of this origin call the API, * for all; may be given several times; default: none',
      several(corsOrigin),
    )
    .option(
      '--allowed-host <name>',
      'answer to this name too where there is no key and --host is this machine alone, * for all; may be given several times',
      several(allowedHost),
    )
    .option('--max-model-len <tokens>', 'prompt and output together', integer(1))
    .option('--kv-cache-memory <MiB>', 'memory for keys and values; default: what fits and can be used', integer(1))
    .option('--max-num-seqs <sequences>', 'how many run at once, where the engine batches', integer(1))
    .option('--max-num-batched-tokens <tokens>', 'tokens of one step, where prompts run in chunks', integer(1))
    .option('--block-size <tokens>', 'tokens a block of the KV cache, where it has blocks', integer(1))
    .addOption(draftModelOption())
    .option('--max-queue <requests>', 'requests that may wait; one more gets 429', integer(1))
    .option('--max-body-bytes <bytes>', 'a longer body gets 413', integer(1024), SERVER_LIMITS.maxBody)
    .option(
      '--max-message-bytes <bytes>',
      'a longer WebSocket message gets an error',
      integer(1024),
      WEBSOCKET_LIMITS.maxMessage,
    )
    .option('--max-connections <number>', 'open at once; one more gets 503', integer(1), SERVER_LIMITS.maxConnections)
    .option(
      '--max-streams <number>',
      'under way on one WebSocket; one more gets an error',
      integer(1),
      WEBSOCKET_LIMITS.maxStreams,
    )
    .option('--log-level <level>', LOG_LEVELS.join(', '), oneOf(...LOG_LEVELS), 'info')
    .option('--log-interval <seconds>', 'between status lines while there is work; 0: none', number(0, 86_400), 10)
    .option('--grace <seconds>', 'how long running requests may go on after SIGTERM', number(0, 3600), 10)
    .addOption(quantizeOption())
    .option(
      '--record <file>',
      'write arrivals and plans, for `rxllm replay`; an engine swapped in writes to <file>.2, …',
      notEmpty,
    )
    .action(serve);
  // vLLM takes the model as an argument, and npm leaves only the value of an option that it takes for its own.
  optionsOnly(
    command,
    (argument) =>
      `Give a model's folder with --model; behind npm start, options come after --: npm start -- --port ${/^\d+$/.test(argument) ? argument : 8000}.`,
  );
}

const exit = (code: number) => process.exit(code);
const warn = (message: string) => void process.stderr.write(`warning: ${message}\n`);

async function serve(options: ServeOptions): Promise<void> {
  const { engine, host, port, grace, record } = options;
  await checkLimits(options);
  if (record !== undefined) {
    findStages(engine);
    checkRecordable(record);
  }
  await runServer({
    start: engineStarter(options),
    engine,
    host,
    port,
    server: serverOptions(options),
    graceMs: grace * 1000,
    stop$: stopSignals(exit),
    print: (line) => process.stdout.write(`${line}\n`),
    warn,
    exit,
  });
}

/** What the options get wrong that can be told before the model is loaded. @throws RxllmError `RXLLM_OPTION_INVALID` */
async function checkLimits(options: ServeOptions): Promise<void> {
  const { recipe } = findEngine(options.engine);
  checkDraftModel(recipe, options);
  // A cache and its limits follow the config alone.
  const model = (await loadConfigAndWeights(options.model)) as Model;
  changedSlots(recipe, options, model);
  const given = engineOptions(options);
  checkLimitsTakeEffect(recipe, given);
  const limits = resolveOptions(model, given);
  // Whether the memory holds them.
  if (recipe.kind === 'staged') recipe.kv(model, limits);
}

function serverOptions(options: ServeOptions): Omit<ServerOptions, 'admin'> {
  const { apiKey = [], corsOrigin: corsOrigins = [], allowedHost: allowedHosts = [], logLevel, logInterval } = options;
  return {
    apiKeys: apiKey,
    corsOrigins,
    allowedHosts,
    limits: { maxBody: options.maxBodyBytes, maxConnections: options.maxConnections },
    webSocket: { maxMessage: options.maxMessageBytes, maxStreams: options.maxStreams },
    logger: createLogger(logLevel),
    ...(logInterval > 0 && { statusMs: logInterval * 1000 }),
  };
}

function engineOptions(options: ServeOptions): Partial<EngineOptions> {
  const { maxModelLen, maxQueue, maxNumSeqs, maxNumBatchedTokens, kvCacheMemory, blockSize } = options;
  return {
    ...(maxModelLen !== undefined && { maxModelLen }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxNumSeqs !== undefined && { maxNumSeqs }),
    ...(maxNumBatchedTokens !== undefined && { maxNumBatchedTokens }),
    ...(kvCacheMemory !== undefined && { kvCacheMemoryMiB: kvCacheMemory }),
    ...(blockSize !== undefined && { blockSize }),
  };
}

/** Engines over one model, whose forward passes take turns while one replaces the other. */
function engineStarter(options: ServeOptions): (name: string) => Promise<Engine> {
  const given = engineOptions(options);
  const share = createTurns();
  let loading: Promise<Model> | undefined;
  let started = 0;
  return async (name) => {
    loading ??= loadModel(options.model);
    const model = await loading;
    const { recipe } = findEngine(name);
    const changes = changedSlots(recipe, options, model, share);
    started += 1;
    // A recording is of one engine, and one that is swapped in begins its own.
    const file = started === 1 || options.record === undefined ? options.record : `${options.record}.${started}`;
    return file === undefined
      ? createEngine({ ...recipe, ...changes }, model, given)
      : recordedEngine(file, { ...findStages(name), ...changes }, model, { given, changedBy: options, warn });
  };
}
