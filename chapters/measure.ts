/** Every engine behind HTTP on the same request, in turn. */
import { engines, loadModel } from 'rxllm';
import { createProgress, measurePrompt, withServers } from 'rxllm/bench';
import { args, size } from './support/args.ts';
import { writeMeasured } from './support/measured.ts';
import { markdownTable } from './support/table.ts';

const names = engines.map(({ recipe }) => recipe.name);
const runs = size(7, 1);
const maxTokens = size(128, 4);
const model = await loadModel(args.model);
const progress = createProgress('all engines', runs * names.length);
const { results } = await withServers({ engines: names, model, maxQueue: 256 }, (contestants) =>
  measurePrompt(
    contestants,
    {
      request: { prompt: args.prompt, params: { maxTokens, temperature: 0, ignoreEos: true } },
      runs,
      warmup: size(3, 1),
    },
    progress,
  ),
);
progress.stop();

const ms = (value: number) => (value === 0 ? '–' : value.toFixed(2));
const rows = results.map(({ engine, stats: { tokPerS, ttftMs, tpotMs } }, index) => [
  engines[index]!.chapter,
  `\`${engine}\``,
  tokPerS.toFixed(1),
  ms(ttftMs),
  ms(tpotMs),
]);
const table = markdownTable(['ch', 'engine', 'tokens/s', 'TTFT ms', 'TPOT ms'], rows);
writeMeasured(import.meta.url, `${table}\n\n${maxTokens} tokens out, ${runs} runs each.`);
