/** The same benchmark over HTTP: the server is a process of its own, polled until it is healthy, and always stopped. */
import { behindHttp, createProgress, measurePrompt, printStats, serveCommand, withServer } from 'rxllm/bench';
import { args, size } from '../support/args.ts';

const runs = size(20, 2);
const progress = createProgress('online', runs);
const nodeArgs = serveCommand(['--engine', 'baseline', '--model', args.model]);
// On a port that is free; the child is stopped when the function settles, and when this process is interrupted.
await withServer({ nodeArgs }, async ({ url }) => {
  const { results } = await measurePrompt(
    [behindHttp('baseline', url)],
    {
      request: { prompt: args.prompt, params: { maxTokens: size(40, 4), temperature: 0, ignoreEos: false } },
      warmup: size(3, 1),
      runs,
    },
    progress,
  );
  for (const { engine, stats } of results) console.log(printStats(`${engine} — online (HTTP)`, stats));
}).finally(progress.stop);
