/** One long system prompt above many questions: the first request computes it, the others find it. Hits and TTFT. */
import { createEngine, loadModel, paged, prefixCaching } from 'rxllm';
import { median } from 'rxllm/bench';
import { sharedPrefixPrompts } from '../../bench/support/shared-prefix.ts';
import { args, size } from '../support/args.ts';
import { resultOf } from '../support/chat.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const prompts = sharedPrefixPrompts(model.tokenizer).slice(0, size(8, 3));
const params = { maxTokens: 4, ignoreEos: true };
const withCache = await createEngine(prefixCaching, model);
const without = await createEngine(paged, model);

let counted = { queries: 0, hits: 0 };
withCache.stats$.subscribe(({ prefixCache }) => {
  counted = prefixCache;
});
for (const engine of [withCache, without]) await resultOf(engine, { prompt: 'Once upon a time', params });
const warmUp = counted;
const rows: (string | number)[][] = [];
const times: [number, number][] = [];
const texts = new Set<boolean>();
for (const [i, prompt] of prompts.entries()) {
  const cold = await resultOf(without, { prompt, params });
  const found = await resultOf(withCache, { prompt, params });
  const { inputTokens, cachedTokens = 0, ttftMs } = found.metrics;
  rows.push([i + 1, inputTokens, cachedTokens, Number(cold.metrics.ttftMs.toFixed(1)), Number(ttftMs.toFixed(1))]);
  times.push([cold.metrics.ttftMs, ttftMs]);
  texts.add(found.text === cold.text);
}
await Promise.all([withCache.close(), without.close()]);

console.log('One after the other, each with a question of its own below the same system prompt:\n');
console.log(textTable(['request', 'prompt tokens', 'found', 'TTFT without, ms', 'TTFT with, ms'], rows));
const [queries, hits] = [counted.queries - warmUp.queries, counted.hits - warmUp.hits];
console.log(`\n${hits} of ${queries} tokens found: ${Math.round((100 * hits) / queries)}%`);
const ratio = median(times.slice(1).map(([cold, warm]) => cold / warm));
console.log(`from the second on, the first token comes ${ratio.toFixed(1)} times sooner (median)`);
console.log(`the texts are ${texts.has(false) ? 'DIFFERENT' : 'the same'}`);
