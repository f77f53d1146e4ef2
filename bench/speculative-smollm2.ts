/**
 * Speculation where the target is ten times larger: SmolLM2-135M's shape in float32, drafted for by the embedded draft
 * model's shape with the same vocabulary. Both have random weights, so acceptance is SIMULATED: the small model's passes
 * run for their time, and each token that it proposes is then what the target will say with probability 0.8.
 * `npx tsx bench/speculative-smollm2.ts [--pairs 7] [--tokens 96]`; it writes 290 MB into a temporary folder.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { map } from 'rxjs';
import { createEngine, draft, type Engine, type ProposerSlot, pipeSlots, prefixCaching, swap, verify } from 'rxllm';
import { alternate, ratio } from '../src/bench/compare.ts';
import { median } from '../src/bench/stats.ts';
import { createRandom } from '../src/core/sampling/random.ts';
import { startProposer } from '../src/core/speculation/draft-model.ts';
import { randomModel, SMOLLM2_135M } from './support/random-model.ts';
import { printTable } from './support/report.ts';

const { values } = parseArgs({
  options: { pairs: { type: 'string', default: '7' }, tokens: { type: 'string', default: '96' } },
});
const TOKENS = Number(values.tokens);
const ACCEPTANCE = 0.8;
const VOCAB = SMOLLM2_135M.vocab;
/** Several engines are open at once, each with a cache for texts of this length. */
const maxPositions = 2048;
const PROMPT = Array.from({ length: 64 }, (_, i) => (i * 997 + 13) % VOCAB);

const folder = await mkdtemp(join(tmpdir(), 'rxllm-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const target = await randomModel(join(folder, 'target'), { ...SMOLLM2_135M, maxPositions });
const small = await randomModel(join(folder, 'draft'), {
  layers: 2,
  hidden: 128,
  intermediate: 384,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  vocab: VOCAB,
  maxPositions,
});

const plain = await createEngine(prefixCaching, target);
const { outputIds } = await plain.generate(PROMPT, TOKENS, { ignoreEos: true });
const truth = [...PROMPT, ...outputIds];

const simulated: ProposerSlot = (context) => {
  const inner = startProposer(context, {}, async () => small);
  const random = createRandom(1);
  const say = (at: number) => (random() < ACCEPTANCE ? truth[at]! : (truth[at]! + 1) % VOCAB);
  return {
    retain: inner.retain,
    propose: (requests) =>
      inner.propose(requests).pipe(
        map((drafts) => {
          const lengths = new Map(requests.map(({ sequence: { id, tokens } }) => [id, tokens.length]));
          return new Map(
            [...drafts].map(([id, { tokens }]) => [id, { tokens: tokens.map((_, i) => say(lengths.get(id)! + i)) }]),
          );
        }),
      ),
  };
};
const drafting = (name: string, k: number, adapt: boolean) =>
  swap(prefixCaching, { name, decode: pipeSlots(draft(simulated, { k, adapt }), verify()) });

const engines: Engine[] = [plain];
for (const recipe of [
  drafting('adapts, up to 4', 4, true),
  drafting('always 4', 4, false),
  drafting('always 6', 6, false),
]) {
  engines.push(await createEngine(recipe, target));
}
const contenders = engines.map((engine) => ({
  name: engine.name,
  run: async () => {
    const { metrics, outputIds: ids } = await engine.generate(PROMPT, TOKENS, { ignoreEos: true });
    if (ids.some((id, i) => id !== outputIds[i])) throw new Error(`${engine.name} says something else`);
    return metrics;
  },
}));
await alternate(contenders, 1);
const results = await alternate(contenders, Number(values.pairs));
const speeds = results.map((runs) => runs.map(({ tpotMs }) => 1000 / tpotMs));
console.log(`${plain.description}; acceptance simulated at ${ACCEPTANCE} a token`);
printTable(
  ['engine', 'tokens/s', '× plain', 'quartiles', 'tokens a pass'],
  contenders.map(({ name }, i) => {
    const gained = ratio(speeds[0]!, speeds[i]!)!;
    return [
      name,
      median(speeds[i]!).toFixed(1),
      gained.median.toFixed(2),
      `${gained.q1.toFixed(2)} to ${gained.q3.toFixed(2)}`,
      results[i]!.at(-1)!.specDecode?.meanAcceptedLength.toFixed(2) ?? '',
    ];
  }),
);
for (const engine of engines) await engine.close();
