/** A short request that arrives a moment after a long one: the head of the line blocks it. */
import { createEngine, type Engine, loadModel, staticBatch } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const LONG = size(256, 24);
const SHORT = 4;

/** Milliseconds to the first token and to the end. */
async function time(engine: Engine, maxTokens: number): Promise<[first: number, end: number]> {
  const start = performance.now();
  let first = 0;
  const params = { maxTokens, ignoreEos: true };
  await engine.stream({ prompt: args.prompt, params }).forEach(({ type }) => {
    if (type === 'token') first ||= performance.now() - start;
  });
  return [first, performance.now() - start];
}

const engine = await createEngine(staticBatch, await loadModel(args.model), { maxNumSeqs: 8 });
await time(engine, 8);
const alone = await time(engine, SHORT);

const isUnderWay = new Promise<void>((resolve) => {
  let tokens = 0;
  engine.stream({ prompt: args.prompt, params: { maxTokens: LONG, ignoreEos: true } }).subscribe(({ type }) => {
    if (type === 'token' && ++tokens === 2) resolve();
  });
});
await isUnderWay;
const behind = await time(engine, SHORT);
await engine.close();

const row = (name: string, times: readonly number[]) => [name, ...times.map((ms) => Number(ms.toFixed(1)))];
console.log(`${SHORT} tokens, eight rows; behind: one request of ${LONG} tokens has just begun, seven rows are free\n`);
console.log(textTable(['', 'TTFT ms', 'end ms'], [row('alone', alone), row('behind', behind)]));
console.log(`\nIt waited ${(behind[0] / alone[0]).toFixed(0)} times as long for a token that takes one step.`);
