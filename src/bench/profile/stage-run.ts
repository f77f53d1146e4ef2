import { EMPTY, forkJoin, last, lastValueFrom, type Subscription } from 'rxjs';
import type {
  Engine,
  EngineOptions,
  ForwardBatch,
  GenerateRequest,
  Model,
  Recipe,
} from '../../core/contracts/index.ts';
import { passWork, totalBytes } from '../../core/profiling/pass-work.ts';
import type { StageTime } from '../../core/profiling/timeline.ts';
import { type WeightTraffic, weightTraffic } from '../../core/profiling/weight-traffic.ts';
import { createEngine } from '../../engines/create-engine.ts';
import { profiled } from '../../engines/profiled.ts';
import { type Profile, profile } from '../../operators/profile.ts';
import { type Phase, phaseOf } from './phase.ts';

/** One forward pass: what it had to do, by its shapes, and what it took. */
export interface PassRecord {
  readonly phase: Phase;
  readonly rows: number;
  readonly tokens: number;
  readonly flops: number;
  readonly bytes: number;
  readonly ms: number;
}

/** Some requests at once, from the first arrival to the last event. */
export interface StageRun {
  /** By a clock beside the profile. */
  readonly wallMs: number;
  readonly stages: readonly StageTime[];
  readonly passes: readonly PassRecord[];
}

/** An engine that says where its time goes. All prompts have `promptTokens` tokens. */
export class ProfiledEngine {
  readonly engine: Engine;
  readonly traffic: WeightTraffic;
  private readonly profile: Profile;
  private readonly passes: PassRecord[];
  private readonly delivered: Subscription;

  private constructor(
    engine: Engine,
    traffic: WeightTraffic,
    profile: Profile,
    passes: PassRecord[],
    delivered: Subscription,
  ) {
    this.engine = engine;
    this.traffic = traffic;
    this.profile = profile;
    this.passes = passes;
    this.delivered = delivered;
  }

  /** @throws RxllmError as `createEngine` does */
  static async start(
    recipe: Recipe,
    model: Model,
    options: Partial<EngineOptions>,
    promptTokens: number,
  ): Promise<ProfiledEngine> {
    const times = profile();
    const passes: PassRecord[] = [];
    let traffic: WeightTraffic | undefined;
    const counted: Recipe = {
      ...recipe,
      model: (of, layout) => {
        const graph = recipe.model(of, layout);
        const author = async (cacheWrites: Parameters<typeof graph.author>[0]) => {
          const onnx = await graph.author(cacheWrites);
          traffic = weightTraffic(onnx, of.config);
          return onnx;
        };
        return { ...graph, author };
      },
    };
    const ended = (batch: ForwardBatch, ms: number) => {
      const { layout } = engine.pool;
      const work = passWork(model.config, traffic!, layout, batch);
      const { tokens, flops } = work;
      const phase = phaseOf(batch, layout, promptTokens);
      passes.push({ phase, rows: batch.rows, tokens, flops, bytes: totalBytes(work), ms });
    };
    const engine = await createEngine(profiled(counted, times, { ended }), model, options);
    // A box has no steps, and its statistics say nothing of its readers.
    const delivered$ = recipe.kind === 'staged' ? engine.stats$.pipe(times.stage('deliver')) : EMPTY;
    return new ProfiledEngine(engine, traffic!, times, passes, delivered$.subscribe());
  }

  async run(requests: readonly GenerateRequest[]): Promise<StageRun> {
    this.passes.length = 0;
    this.profile.start();
    const start = performance.now();
    await lastValueFrom(forkJoin(requests.map((request) => this.engine.stream(request).pipe(last()))));
    const wallMs = performance.now() - start;
    return { wallMs, stages: this.profile.stages(), passes: [...this.passes] };
  }

  async close(): Promise<void> {
    this.delivered.unsubscribe();
    await this.engine.close();
  }
}
