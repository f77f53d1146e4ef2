/** Inside a forward pass: ONNX Runtime times each op itself, and says which kind takes how much, in prefill and in decode. */
import { continuous, int4, loadModel } from 'rxllm';
import { opRun } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { optionsFor, requestsFor } from '../support/phases.ts';
import { textTable } from '../support/table.ts';

const LOAD = { batch: 1, promptTokens: size(256, 16), maxTokens: size(64, 4) };
const model = await loadModel(args.model);

for (const recipe of [continuous, int4]) {
  const requests = [requestsFor(LOAD), requestsFor(LOAD, 1)] as const;
  const times = await opRun(recipe, model, requests, {
    options: optionsFor(LOAD),
    promptTokens: LOAD.promptTokens,
    by: 'op',
  });
  for (const [phase, { runs, totalMs, ops }] of times) {
    const share = (ms: number) => `${((100 * ms) / totalMs).toFixed(1).padStart(5)}%`;
    const inOps = ops.reduce((sum, op) => sum + op.totalMs, 0);
    console.log(`${recipe.name}, ${phase}: ${(totalMs / runs).toFixed(2)} ms a run\n`);
    const rows = ops
      .slice(0, 6)
      .map(({ name, count, totalMs: ms }) => [name, count / runs, (ms / runs).toFixed(3), share(ms)]);
    rows.push(['(between ops)', '', ((totalMs - inOps) / runs).toFixed(3), share(totalMs - inOps)]);
    console.log(`${textTable(['op', 'a run', 'ms a run', 'of run'], rows)}\n`);
  }
}
