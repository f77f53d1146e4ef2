import type { Command } from 'commander';
import { fromEvent, merge } from 'rxjs';
import type { Engine, EngineOptions, Model } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { loadModel } from '../core/model/load-model.ts';
import { autoRuntime } from '../core/runtime/auto-runtime.ts';
import { createTurns } from '../core/runtime/turns.ts';
import {
  createEngine,
  findEngine,
  findStages,
  QUANTIZATIONS,
  type Quantization,
  speculative,
  speculativeWith,
} from '../engines/index.ts';
import {
  DEFAULT_ENGINE,
  EMBEDDED_MODEL,
  engineName,
  integer,
  modelDirectory,
  notEmpty,
  number,
  quantization,
} from './options.ts';
import { checkRecordable, recordedEngine } from './recorded-engine.ts';
import { runServer } from './run-server.ts';

type Limits = Pick<EngineOptions, 'maxModelLen' | 'maxQueue' | 'maxNumSeqs' | 'maxNumBatchedTokens'>;

interface ServeOptions extends Partial<Limits> {
  readonly engine: string;
  readonly model: string;
  readonly host: string;
  readonly port: number;
  readonly apiKey?: string;
  readonly kvCacheMemory?: number;
  readonly blockSize?: number;
  readonly grace: number;
  readonly quantize?: Quantization;
  readonly record?: string;
  readonly draftModel?: string;
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
    .option('--max-num-seqs <sequences>', 'how many run at once, where the engine batches', integer(1))
    .option('--max-num-batched-tokens <tokens>', 'tokens of one step, prompt chunks and decoding rows', integer(1))
    .option('--block-size <tokens>', 'tokens a block of the KV cache, where it has blocks', integer(1))
    .option(
      '--draft-model <dir>',
      'what drafts for the engine speculative, of the same vocabulary; default: the embedded one',
      modelDirectory,
    )
    .option('--max-queue <requests>', 'requests that may wait; one more gets 429', integer(1))
    .option('--grace <seconds>', 'how long running requests may go on after SIGTERM', number(0, 3600), 10)
    .option('--quantize <kind>', 'round the weights while loading: int4, int8 or row-int8', quantization)
    .option(
      '--record <file>',
      'write arrivals and plans, for `rxllm replay`; an engine swapped in writes to <file>.2, …',
      notEmpty,
    )
    .action(serve);
}

const warn = (message: string) => void process.stderr.write(`warning: ${message}\n`);

async function serve(options: ServeOptions): Promise<void> {
  const { engine, host, port, apiKey, grace, record } = options;
  if (record !== undefined) checkRecordable(record);
  await runServer({
    start: engineStarter(options),
    engine,
    host,
    port,
    ...(apiKey !== undefined && { apiKey }),
    graceMs: grace * 1000,
    stop$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM')),
    print: (line) => process.stdout.write(`${line}\n`),
  });
}

/** Engines over one model, whose forward passes take turns while one replaces the other. */
function engineStarter(options: ServeOptions): (name: string) => Promise<Engine> {
  const { maxModelLen, maxQueue, maxNumSeqs, maxNumBatchedTokens, kvCacheMemory, blockSize } = options;
  const given: Partial<EngineOptions> = {
    ...(maxModelLen !== undefined && { maxModelLen }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxNumSeqs !== undefined && { maxNumSeqs }),
    ...(maxNumBatchedTokens !== undefined && { maxNumBatchedTokens }),
    ...(kvCacheMemory !== undefined && { kvCacheMemoryMiB: kvCacheMemory }),
    ...(blockSize !== undefined && { blockSize }),
  };
  const share = createTurns();
  const weights = options.quantize && { model: QUANTIZATIONS[options.quantize], exact: false };
  let model: Promise<Model> | undefined;
  let started = 0;
  return async (name) => {
    started += 1;
    model ??= loadModel(options.model);
    const { recipe } = findEngine(name);
    if (options.draftModel !== undefined && started === 1 && recipe !== speculative) {
      throw new RxllmError(
        'RXLLM_OPTION_INVALID',
        `draftModel: ${name} drafts nothing; leave it out, or --engine speculative.`,
        {
          param: 'draftModel',
        },
      );
    }
    const stages = recipe === speculative ? drafted(options.draftModel, share) : {};
    const changes = { ...stages, runtime: share(recipe.runtime), ...weights };
    // A recording is of one engine, and one that is swapped in begins its own.
    const file = started === 1 || options.record === undefined ? options.record : `${options.record}.${started}`;
    const engine =
      file === undefined
        ? await createEngine({ ...recipe, ...changes }, await model, given)
        : await recordedEngine(file, { ...findStages(name), ...changes }, await model, given, warn);
    if (blockSize === undefined || started > 1 || engine.pool.layout === 'paged') return engine;
    await engine.close();
    throw new RxllmError('RXLLM_OPTION_INVALID', `blockSize: the cache of ${name} has no blocks; leave it out.`, {
      param: 'blockSize',
    });
  };
}

/** The draft model's passes take their turn, too. */
const drafted = (draftModel: string | undefined, share: ReturnType<typeof createTurns>) => ({
  decode: speculativeWith(draftModel, { runtime: share(autoRuntime()) }).decode,
});
