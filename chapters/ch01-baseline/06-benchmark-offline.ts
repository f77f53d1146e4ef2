/** Throughput of the engine in this process: warm-ups that do not count, then runs that do. */
import { baseline, createEngine, loadModel } from 'rxllm';
import { args, size } from '../support/args.ts';

const WARMUPS = size(3, 1);
const RUNS = size(20, 2);
const engine = await createEngine(baseline, await loadModel(args.model));
const once = () => engine.generate(args.prompt, size(40, 4));

// The first passes page the weights in, and V8 has not compiled the hot functions yet.
for (let run = 0; run < WARMUPS; run++) await once();

let tokens = 0;
let wallMs = 0;
for (let run = 0; run < RUNS; run++) {
  const start = performance.now();
  const { metrics } = await once();
  wallMs += performance.now() - start;
  // What came, not what was asked for: a story may end early.
  tokens += metrics.outputTokens;
}
await engine.close();

console.log(`
  ${engine.name}, offline (no HTTP)
  ────────────────────────────────────────
  Req/s        : ${((RUNS * 1000) / wallMs).toFixed(2)}
  Tok/s        : ${((tokens * 1000) / wallMs).toFixed(1)}
  Wall time    : ${(wallMs / RUNS).toFixed(0)} ms / request
  Tokens out   : ${(tokens / RUNS).toFixed(0)} (mean of ${RUNS} runs)`);
