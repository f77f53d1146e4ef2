/** A chat sends all that was said so far with every turn. With the cache only the new question is computed. */
import { createEngine, loadModel, paged, prefixCaching } from 'rxllm';
import { args, size } from '../support/args.ts';
import { chat, QUESTIONS } from '../support/chat.ts';
import { textTable } from '../support/table.ts';

const TOKENS = size(80, 20);
const model = await loadModel(args.model);
const withCache = await createEngine(prefixCaching, model);
const without = await createEngine(paged, model);
const questions = QUESTIONS.slice(0, size(QUESTIONS.length, 2));

// A warm-up in other words, so that nothing of it is found later.
for (const engine of [withCache, without]) await chat(engine, ['Hello!', 'Who are you?'], 4);
const computed = await chat(without, questions, TOKENS);
const found = await chat(withCache, questions, TOKENS);
await Promise.all([withCache.close(), without.close()]);

const rows = found.map(({ promptTokens, cached, ttftMs }, turn) => [
  turn + 1,
  promptTokens,
  cached,
  `${Math.round((100 * cached) / promptTokens)}%`,
  Number(computed[turn]!.ttftMs.toFixed(2)),
  Number(ttftMs.toFixed(2)),
]);
console.log(textTable(['turn', 'prompt tokens', 'found', 'of them', 'TTFT without, ms', 'TTFT with, ms'], rows));
const isSame = found.every(({ reply }, turn) => reply === computed[turn]!.reply);
console.log(`\nthe replies are ${isSame ? 'the same' : 'DIFFERENT'}`);
