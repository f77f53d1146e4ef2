/** The time of each stage, from the stream itself; between two operators of any pipe, and behind each stage of an engine. */
import { concatMap, delay, forkJoin, from, last, lastValueFrom, map, of } from 'rxjs';
import { continuous, createEngine, loadModel, profile, profiled } from 'rxllm';
import { args, size } from '../support/args.ts';
import { optionsFor, requestsFor } from '../support/phases.ts';
import { textTable } from '../support/table.ts';

// Each item that passes `stage(name)` says: what stands before me, as far as the last one, is done.
const times = profile();
times.start();
const busy = (n: number) => Array.from({ length: 200_000 }, (_, i) => i * n).reduce((a, b) => a + b, 0);
const work$ = from([1, 2, 3, 4]).pipe(
  concatMap((n) => of(n).pipe(delay(5))),
  times.stage('delay'),
  map(busy),
  times.stage('map'),
);
await lastValueFrom(work$);
show(times.stages());

// An engine has a stage behind each operator of its step, and forward passes within prefill and decode.
const LOAD = { batch: 8, promptTokens: size(128, 16), maxTokens: size(64, 4) };
const inEngine = profile();
const engine = await createEngine(profiled(continuous, inEngine), await loadModel(args.model), optionsFor(LOAD));
const delivered = engine.stats$.pipe(inEngine.stage('deliver')).subscribe();
const all = (round: number) =>
  lastValueFrom(forkJoin(requestsFor(LOAD, round).map((request) => engine.stream(request).pipe(last()))));
await all(0);
inEngine.start();
const start = performance.now();
await all(1);
const wallMs = performance.now() - start;
const stages = inEngine.stages();
delivered.unsubscribe();
await engine.close();

console.log(
  `\n${LOAD.batch} requests, ${LOAD.promptTokens} tokens in and ${LOAD.maxTokens} out, each moment counted once:\n`,
);
show(stages);
const sum = stages.reduce((total, { selfMs }) => total + selfMs, 0);
console.log(`\nself times ${sum.toFixed(1)} ms, wall ${wallMs.toFixed(1)} ms: ${((100 * sum) / wallMs).toFixed(1)}%`);

function show(lines: ReturnType<typeof inEngine.stages>): void {
  const rows = lines.map(({ stage, within, items, totalMs, selfMs }) => [
    within === undefined ? stage : `  ${stage}`,
    items,
    Number(totalMs.toFixed(2)),
    Number(selfMs.toFixed(2)),
  ]);
  console.log(textTable(['stage', 'items', 'total ms', 'self ms'], rows));
}
