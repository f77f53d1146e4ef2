/**
 * What the loop costs beside the model, at batch 8 on the embedded model: plan, RxJS, sampling, detokenizing, routing.
 * `npx tsx bench/own-cost.ts [--engine continuous-batching] [--temperature 0]`. Exits 1 above 10% of a step.
 */
import { parseArgs } from 'node:util';
import { forkJoin, last, lastValueFrom } from 'rxjs';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createEngine, findStages, observe } from '../src/engines/index.ts';
import { profile } from '../src/operators/index.ts';
import { printTable } from './support/report.ts';

const BATCH = 8;
const TOKENS = 256;
const ROUNDS = 4;
const MOST = 0.1;
/** Their time is the forward pass's, but for what it takes to put its inputs together. */
const MODEL_STAGES: ReadonlySet<string> = new Set(['prefill', 'decode']);

const { values: args } = parseArgs({
  options: {
    engine: { type: 'string', default: 'continuous-batching' },
    temperature: { type: 'string', default: '0' },
  },
});
const { observer, start, stages } = profile();
const recipe = observe(findStages(args.engine), observer);
const engine = await createEngine(recipe, await loadModel(EMBEDDED_MODEL), { maxNumSeqs: BATCH });
const params = { maxTokens: TOKENS, ignoreEos: true, temperature: Number(args.temperature), topP: 0.95, seed: 1 };
const round = () =>
  lastValueFrom(
    forkJoin(Array.from({ length: BATCH }, (_, i) => engine.stream({ prompt: [894, 670 + i], params }).pipe(last()))),
  );

await round();
start();
const begun = performance.now();
for (let i = 0; i < ROUNDS; i++) await round();
const wallMs = performance.now() - begun;
const times = stages();
await engine.close();

const steps = times.find(({ stage }) => stage === 'schedule')!.items;
const inModel = times.reduce((sum, { stage, selfMs }) => sum + (MODEL_STAGES.has(stage) ? selfMs : 0), 0);
const own = (wallMs - inModel) / wallMs;
const row = (name: string, ms: number) => [name, (ms / steps).toFixed(3), `${((100 * ms) / wallMs).toFixed(1)}%`];
console.log(`${engine.name} on ${engine.description}, ${BATCH} sequences, ${steps} steps`);
printTable(
  ['stage', 'ms a step', 'share'],
  [...times.map(({ stage, selfMs }) => row(stage, selfMs)), row('a step', wallMs), row('own cost', wallMs - inModel)],
);
if (own > MOST) process.exitCode = 1;
