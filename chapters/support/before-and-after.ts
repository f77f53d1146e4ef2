import { loadModel } from 'rxllm';
import { type BenchStats, createProgress, type Measured, measurePrompt, withEngines, withServers } from 'rxllm/bench';
import { args, size } from './args.ts';
import { ratioOf } from './ratio-of.ts';
import { markdownTable } from './table.ts';

export interface Comparing {
  /** At least 7; 15 where the bound is within 10% of 1. */
  readonly pairs: number;
  readonly maxTokens: number;
}

/**
 * Two engines in turn on one greedy request, so that whatever else the machine does meets both: in this process and
 * behind HTTP. As Markdown.
 */
export async function beforeAndAfter(engines: readonly [string, string], comparing: Comparing): Promise<string> {
  const { pairs, maxTokens } = comparing;
  const job = {
    request: { prompt: args.prompt, params: { maxTokens, temperature: 0, ignoreEos: true } },
    runs: pairs,
    warmup: size(3, 1),
  };
  const line = { engines, model: await loadModel(args.model), maxQueue: 256 };
  const progress = createProgress(engines.join(', '), 4 * pairs);
  const offline = await withEngines(line, (contestants) => measurePrompt(contestants, job, progress));
  const online = await withServers(line, (contestants) => measurePrompt(contestants, job, progress));
  progress.stop();
  const rows = [...rowsOf('in process', offline), ...rowsOf('HTTP', online)];
  return `${markdownTable(['', 'engine', 'tokens/s', 'TTFT ms', 'TPOT ms'], rows)}

A prompt of ${line.model.tokenizer.encode(args.prompt).length} tokens, ${maxTokens} tokens out, ${pairs} pairs in turn. Tokens/s of \`${engines[1]}\` over \`${engines[0]}\`: ${ratioOf(offline, 3)} in process, ${ratioOf(online, 3)} over HTTP (median of the pairs, quartiles).`;
}

function rowsOf(where: string, { results }: Measured<BenchStats>): string[][] {
  const ms = (value: number) => (value === 0 ? '–' : value.toFixed(2));
  return results.map(({ engine, stats: { tokPerS, ttftMs, tpotMs } }) => [
    where,
    `\`${engine}\``,
    tokPerS.toFixed(1),
    ms(ttftMs),
    ms(tpotMs),
  ]);
}
