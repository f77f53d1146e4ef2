import type { EngineOptions, GenerateRequest, Model, Recipe, TokenId } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import type { RunTimes } from '../../core/profiling/op-times.ts';
import type { Roofs } from '../../core/profiling/roofline.ts';
import type { WeightTraffic } from '../../core/profiling/weight-traffic.ts';
import { createRandom } from '../../core/sampling/random.ts';
import { type Ceilings, type CeilingsOptions, measureCeilings } from './ceilings.ts';
import { opRun } from './op-run.ts';
import type { Phase } from './phase.ts';
import { type PhasePoint, phasePoints, roofsFor } from './phase-points.ts';
import { type PassRecord, ProfiledEngine, type StageRun } from './stage-run.ts';

export interface ProfileJob {
  /** A text for all requests, or so many random tokens for each. */
  readonly prompt: string | number;
  readonly maxTokens: number;
  /** Requests at once; the roofline has 1, 2, 4 … of them as well. */
  readonly batch: number;
  readonly by: 'op' | 'node';
  readonly ceilings?: Omit<CeilingsOptions, 'cachedBytes'>;
  /** Told after each of the `profileParts`. */
  readonly advance?: () => void;
}

export interface EngineProfile {
  readonly engine: string;
  readonly model: string;
  /** The runner's. */
  readonly runtime: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly batch: number;
  readonly traffic: WeightTraffic;
  /** Of the whole batch. */
  readonly run: StageRun;
  readonly ceilings: Ceilings;
  readonly roofs: Roofs;
  /** By batch size, as far as the engine runs so many side by side. */
  readonly points: readonly PhasePoint[];
  /** Absent where the native runtime is. */
  readonly ops?: ReadonlyMap<Phase, RunTimes>;
}

/** Tokens of a warm-up, and of a run that times ops: its profile is a kilobyte an op. */
const SHORT = 16;
/** Runs of the prompts alone, for a whole run has hundreds of decode passes and few of prefill. */
const PREFILLS = 3;

/**
 * Where an engine's time goes: its stages, its ops, and its place under this machine's roofs.
 * @throws RxllmError `RXLLM_CONTEXT_LENGTH_EXCEEDED`, and as `createEngine` does
 */
export async function profileEngine(recipe: Recipe, model: Model, job: ProfileJob): Promise<EngineProfile> {
  const { batch, maxTokens, by, advance = () => {} } = job;
  const requests = requestsOf(model, job);
  const short = requestsOf(model, { ...job, maxTokens: Math.min(maxTokens, SHORT) });
  const prompts = requestsOf(model, { ...job, maxTokens: 1 });
  const promptTokens = promptLength(model, job);
  const options: Partial<EngineOptions> = {
    maxModelLen: promptTokens + maxTokens,
    maxNumSeqs: batch,
    maxNumBatchedTokens: Math.max(512, batch),
    maxQueue: Math.max(256, batch),
  };
  const profiled = await ProfiledEngine.start(recipe, model, options, promptTokens);
  const { engine, traffic } = profiled;
  const passes: (readonly PassRecord[])[] = [];
  let run: StageRun | undefined;
  try {
    for (const size of sizesUpTo(batch)) {
      await profiled.run(short(size));
      for (let i = 0; i < PREFILLS; i++) passes.push((await profiled.run(prompts(size))).passes);
      run = await profiled.run(requests(size));
      passes.push(run.passes);
      advance();
    }
  } finally {
    await profiled.close();
  }
  const ops = await opRun(recipe, model, [short(batch), short(batch)], { options, promptTokens, by }).catch(
    unavailable,
  );
  advance();
  const ceilings = await measureCeilings({ ...job.ceilings, cachedBytes: traffic.layers + traffic.head });
  advance();
  const roofs = roofsFor(ceilings, traffic.kernel);
  return {
    engine: recipe.name,
    model: model.name,
    runtime: engine.description,
    promptTokens,
    maxTokens,
    batch,
    traffic,
    run: run!,
    ceilings,
    roofs,
    points: phasePoints(wholePrompts(passes.flat(), promptTokens), roofs),
    ...(ops && { ops }),
  };
}

/** How many parts a profile is measured in: each batch size, the ops, the roofs. */
export function profileParts(batch: number): number {
  return sizesUpTo(batch).length + 2;
}

/** 1, 2, 4 … and the batch itself. */
function sizesUpTo(batch: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < batch; size *= 2) sizes.push(size);
  return [...sizes, batch];
}

/** Chunks of prompts are another size of work; they count where prompts are so long that there are only chunks. */
function wholePrompts(passes: readonly PassRecord[], promptTokens: number): readonly PassRecord[] {
  const whole = passes.filter(({ phase, rows, tokens }) => phase === 'decode' || tokens === rows * promptTokens);
  return whole.some(({ phase }) => phase === 'prefill') ? whole : passes;
}

function promptLength({ tokenizer, config }: Model, { prompt, maxTokens }: ProfileJob): number {
  const tokens = typeof prompt === 'number' ? prompt : tokenizer.encode(prompt).length;
  if (tokens + maxTokens <= config.maxPositions) return tokens;
  const message = `${tokens} prompt tokens and ${maxTokens} more are over the model's context of ${config.maxPositions}; lower --prompt-tokens or --max-tokens.`;
  throw new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', message);
}

/** Other requests at each call; a salt of their own keeps a prefix cache from answering them. */
function requestsOf({ tokenizer, config }: Model, { prompt, maxTokens }: ProfileJob) {
  const random = createRandom(1);
  let count = 0;
  const token = (): TokenId => {
    const id = Math.floor(random() * config.vocab);
    return tokenizer.eosIds.has(id) ? token() : id;
  };
  return (size: number): GenerateRequest[] =>
    Array.from({ length: size }, () => ({
      prompt: typeof prompt === 'number' ? Array.from({ length: prompt }, token) : prompt,
      params: { maxTokens, ignoreEos: true },
      cacheSalt: `profile ${count++}`,
    }));
}

function unavailable(error: unknown): undefined {
  if (error instanceof RxllmError && error.code === 'RXLLM_RUNTIME_UNAVAILABLE') return undefined;
  throw error;
}
