/**
 * Plain decoding and speculation in turn, by kind of text, greedy and one request at a time:
 * `npx tsx bench/speculative.ts [--pairs 7] [--tokens 128] [--kinds chat,prose] [--int4]`. With `--int4` the target's weights
 * have four bits.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import {
  createEngine,
  draft,
  draftModel,
  type Engine,
  int4,
  loadModel,
  type ProposerSlot,
  pipeSlots,
  prefixCaching,
  promptLookup,
  speculative,
  swap,
  verify,
} from 'rxllm';
import { alternate, ratio } from '../src/bench/compare.ts';
import { median } from '../src/bench/stats.ts';
import { printTable } from './support/report.ts';
import { type PromptKind, readStories, speculationPrompts } from './workloads/speculation.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '7' },
    tokens: { type: 'string', default: '128' },
    int4: { type: 'boolean', default: false },
    kinds: { type: 'string', default: 'chat,prose,long context,repeating' },
  },
});

const decoding = (name: string, proposer: ProposerSlot, options: { readonly k: number; readonly adapt?: boolean }) =>
  swap(prefixCaching, { name, decode: pipeSlots(draft(proposer, options), verify()) });

const small = draftModel('models/storyteller-draft');
const recipes = [
  prefixCaching,
  speculative,
  decoding('always 4', small, { k: 4, adapt: false }),
  decoding('prompt lookup', promptLookup(), { k: 8 }),
];

const model = await loadModel('models/storyteller-12m');
const engines: Engine[] = [];
for (const recipe of recipes) {
  const { name } = recipe;
  const weights = values.int4 ? swap(recipe, { name: `${name}, int4`, model: int4.model, exact: false }) : recipe;
  engines.push(await createEngine(weights, model));
}

/** Tokens/s while tokens come: prefill is the same for all. */
async function speed(engine: Engine, { prompts, ignoreEos = false }: PromptKind) {
  const sum = { tokens: 0, ms: 0, drafts: 0, proposed: 0, accepted: 0 };
  for (const prompt of prompts) {
    const { metrics } = await engine.generate(prompt, Number(values.tokens), { ignoreEos });
    sum.tokens += metrics.outputTokens - 1;
    sum.ms += metrics.tpotMs * (metrics.outputTokens - 1);
    sum.drafts += metrics.specDecode?.drafts ?? 0;
    sum.proposed += metrics.specDecode?.tokensProposed ?? 0;
    sum.accepted += metrics.specDecode?.tokensAccepted ?? 0;
  }
  return { tokPerS: (1000 * sum.tokens) / sum.ms, ...sum };
}

console.log(`${engines[0]!.description}; node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}`);
const rows: (string | number)[][] = [];
for (const texts of speculationPrompts(readStories(), model.tokenizer)) {
  const { kind } = texts;
  if (!values.kinds.split(',').includes(kind)) continue;
  const contenders = engines.map((engine) => ({ name: engine.name, run: () => speed(engine, texts) }));
  await alternate(contenders, 1);
  const results = await alternate(contenders, Number(values.pairs));
  const speeds = results.map((rounds) => rounds.map(({ tokPerS }) => tokPerS));
  for (const [i, { name }] of contenders.entries()) {
    const { drafts, proposed, accepted } = results[i]!.at(-1)!;
    const gained = ratio(speeds[0]!, speeds[i]!)!;
    rows.push([
      kind,
      name,
      median(speeds[i]!).toFixed(0),
      i === 0 ? '' : gained.median.toFixed(2),
      i === 0 ? '' : `${gained.q1.toFixed(2)} to ${gained.q3.toFixed(2)}`,
      proposed === 0 ? '' : (accepted / proposed).toFixed(3),
      drafts === 0 ? '' : (1 + accepted / drafts).toFixed(2),
    ]);
  }
}
printTable(['text', 'engine', 'tokens/s', '× plain', 'quartiles', 'accepted', 'tokens a pass'], rows);
for (const engine of engines) await engine.close();
