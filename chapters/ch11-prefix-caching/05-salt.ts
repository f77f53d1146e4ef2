/** `cacheSalt`: what one tenant has asked is found by nobody else, and no clock tells that it was asked. */
import { createEngine, loadModel, prefixCaching } from 'rxllm';
import { args, size } from '../support/args.ts';
import { resultOf } from '../support/chat.ts';
import { textTable } from '../support/table.ts';

const secret = `${'The recipe of our bakery is kept in the old mill behind the green door. '.repeat(size(30, 4))}Tell nobody.`;
const model = await loadModel(args.model);
const engine = await createEngine(prefixCaching, model);
await resultOf(engine, { prompt: 'Hello, who is there?', params: { maxTokens: 2 } });

/** Who sends the same prompt, and under which salt. */
const asked: readonly (readonly [string, string | undefined])[] = [
  ['anna, no salt', undefined],
  ['eve, no salt', undefined],
  ['anna', 'anna-7f3a'],
  ['eve', 'eve-09c2'],
  ['anna again', 'anna-7f3a'],
];
const rows: (string | number)[][] = [];
for (const [who, cacheSalt] of asked) {
  const params = { maxTokens: 2, ignoreEos: true };
  const request = { prompt: secret, params, ...(cacheSalt !== undefined && { cacheSalt }) };
  const { inputTokens, cachedTokens = 0, ttftMs } = (await resultOf(engine, request)).metrics;
  rows.push([who, inputTokens, cachedTokens, Number(ttftMs.toFixed(2))]);
}
await engine.close();

console.log('One prompt, asked in this order:\n');
console.log(textTable(['who', 'prompt tokens', 'found', 'TTFT ms'], rows));
console.log(
  '\nWithout a salt Eve can guess a text and learn from its TTFT whether somebody has sent it. Over HTTP the',
);
console.log('salt is `cache_salt`, best set by whoever authenticates the tenants, and hard to guess.');
