/**
 * Time to the first token where 1,036 tokens of the prompt are in the prefix cache, against a cold one:
 * `npx tsx bench/shared-prefix.ts [--random] [--pairs 15]`, on the embedded model or on SmolLM2-135M's shape. Cold and warm take
 * turns, each prompt with a suffix of its own.
 */
import { parseArgs } from 'node:util';
import { median, quartiles } from '../src/bench/stats.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createEngine, prefixCaching } from '../src/engines/index.ts';
import { randomSmolLmModel } from './support/random-model.ts';
import { printTable } from './support/report.ts';
import { coldAndWarm, sharedPrefixPrompts } from './support/shared-prefix.ts';

const { values } = parseArgs({
  options: { random: { type: 'boolean', default: false }, pairs: { type: 'string', default: '15' } },
});
const embedded = await loadModel('models/storyteller-12m');
const model = values.random ? await randomSmolLmModel() : embedded;
const engine = await createEngine(prefixCaching, model, { maxModelLen: 2048, maxNumSeqs: 8, maxNumBatchedTokens: 512 });

const prompts = sharedPrefixPrompts(embedded.tokenizer);
const { cold, warm, ratios, cached } = await coldAndWarm(engine, prompts, Number(values.pairs));
console.log(`${model.name}, ${engine.description}: ${prompts[0]!.length} tokens, of which ${cached} are cached`);
const row = [median(cold), median(warm), median(ratios)].map((value) => value.toFixed(2));
printTable(['cold, ms', 'warm, ms', 'ratio', 'quartiles'], [[...row, quartiles(ratios, 1)]]);
await engine.close();
