/** Throughput of the engine in this process: warm-ups that do not count, then runs that do. */
import { baseline, createEngine, loadModel } from 'rxllm';
import { createProgress, inProcess, measurePrompt, printStats } from 'rxllm/bench';
import { args, size } from '../support/args.ts';

const engine = await createEngine(baseline, await loadModel(args.model));
const runs = size(20, 2);
const progress = createProgress('offline', runs);
const { results } = await measurePrompt(
  [inProcess(engine)],
  {
    request: { prompt: args.prompt, params: { maxTokens: size(40, 4), temperature: 0, ignoreEos: false } },
    // The first passes page the weights in, and V8 has not compiled the hot functions yet.
    warmup: size(3, 1),
    runs,
  },
  progress,
);
progress.stop();
await engine.close();
for (const { engine: name, stats } of results) console.log(printStats(`${name} — offline (no HTTP)`, stats));
