/**
 * What following a grammar costs, at batch 8 on the embedded model: tokens/s of rows that follow one (all the same, or
 * each its own) over rows that do not, in alternate pairs; and how long the event loop stands still while a large schema
 * is compiled. `npx tsx bench/grammar.ts [--pairs 7]`
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { alternate, type Ratio, ratio } from '../src/bench/compare.ts';
import { median } from '../src/bench/stats.ts';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import type { JsonSchema, SamplingParams } from '../src/core/contracts/index.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { continuous, createEngine } from '../src/engines/index.ts';
import { printTable } from './support/report.ts';

const BATCH = 8;
const TOKENS = 128;
/** Properties of the large schema, each an object of five. */
const PROPERTIES = 20;

const { values: args } = parseArgs({ options: { pairs: { type: 'string', default: '7' } } });
const engine = await createEngine(continuous, await loadModel(EMBEDDED_MODEL), { maxNumSeqs: BATCH });
const common = { maxTokens: TOKENS, temperature: 1, topP: 0.95 };

async function tokensPerSecond(paramsOf: (row: number) => Partial<SamplingParams>): Promise<number> {
  const start = performance.now();
  const results = await Promise.all(
    Array.from({ length: BATCH }, (_, row) =>
      engine.generate([894, 670 + row], undefined, { ...common, seed: row, ...paramsOf(row) }),
    ),
  );
  const tokens = results.reduce((sum, { outputIds }) => sum + outputIds.length, 0);
  if (tokens !== BATCH * TOKENS) throw new Error(`${tokens} tokens were generated, not ${BATCH * TOKENS}`);
  return (1000 * tokens) / (performance.now() - start);
}

const guided = (row: number): Partial<SamplingParams> => ({
  minTokens: TOKENS,
  responseFormat: { type: 'regex', pattern: `[a-zA-Z ,.]{${10 + row}}[a-zA-Z ,.]*` },
});
const contenders = [
  { name: 'any text', run: () => tokensPerSecond(() => ({ ignoreEos: true })) },
  { name: 'one grammar', run: () => tokensPerSecond(() => guided(0)) },
  { name: 'eight grammars', run: () => tokensPerSecond(guided) },
];
for (const { run } of contenders) await run();
const [free, ...rest] = await alternate(contenders, Number(args.pairs));
const show = (found: Ratio | undefined) =>
  found ? `${found.median.toFixed(3)} (${found.q1.toFixed(3)} to ${found.q3.toFixed(3)})` : '';
printTable(
  ['rows follow', 'tokens/s', 'ratio (quartiles)'],
  [
    ['any text', median(free!).toFixed(0), '1'],
    ...rest.map((rates, index) => [contenders[index + 1]!.name, median(rates).toFixed(0), show(ratio(free!, rates))]),
  ],
);

const person = (index: number): JsonSchema => ({
  type: 'object',
  properties: {
    [`name${index}`]: { type: 'string', minLength: 1, maxLength: 20 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    kind: { enum: ['a', 'b', index] },
    tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]{2,5}$' }, minItems: 1, maxItems: 3 },
    more: { type: 'boolean' },
  },
  required: [`name${index}`, 'age', 'kind', 'tags', 'more'],
});
const schema: JsonSchema = {
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: PROPERTIES }, (_, i) => [`p${i}`, person(i)])),
};
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const start = performance.now();
await engine.generate('Once', 1, { responseFormat: { type: 'json_schema', schema } });
const elapsed = performance.now() - start;
delay.disable();
console.log(
  `A schema of ${JSON.stringify(schema).length} characters: ${elapsed.toFixed(0)} ms to the first token; ` +
    `the event loop stood still for ${(delay.max / 1e6).toFixed(1)} ms at most.`,
);
await engine.close();
