/** The swap changes no token, whoever proposes: a draft model, the text itself, the target with fewer layers, nonsense. */
import { of } from 'rxjs';
import { createEngine, type ProposerSlot, prefixCaching, promptLookup, selfDraft } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { always, model, small } from './by-kind.ts';

/** Proposes the same word again and again. */
const nonsense: ProposerSlot = () => ({
  propose: (requests) =>
    of(new Map(requests.map(({ sequence, count }) => [sequence.id, { tokens: Array<number>(count).fill(500) }]))),
  retain() {},
});

const recipes = [
  { name: 'nobody', recipe: prefixCaching },
  { name: 'draft model', recipe: always(4, small) },
  { name: 'prompt lookup', recipe: always(4, promptLookup({ minNgram: 1, maxNgram: 3 })) },
  { name: 'itself, 6 of 8 layers', recipe: always(4, selfDraft({ layers: [0, 1, 2, 3, 4, 7] })) },
  { name: 'nonsense', recipe: always(4, nonsense) },
];

const seen = new Set<string>();
const rows: (string | number)[][] = [];
for (const { name, recipe } of recipes) {
  const engine = await createEngine(recipe, model);
  const count = size(96, 8);
  const greedy = await engine.generate(args.prompt, count, { ignoreEos: true });
  const drawn = await engine.generate(args.prompt, count, { ignoreEos: true, temperature: 0.8, seed: 3 });
  await engine.close();
  seen.add(`${greedy.outputIds.join(' ')} / ${drawn.outputIds.join(' ')}`);
  const perPass = (result: typeof greedy) => Number((result.metrics.specDecode?.meanAcceptedLength ?? 1).toFixed(2));
  rows.push([name, perPass(greedy), perPass(drawn)]);
}
console.log('tokens a pass of the target, greedy and at temperature 0.8 with a seed:\n');
console.log(textTable(['proposer', 'greedy', 'with a seed'], rows));
console.log(`\nthe ids are ${seen.size === 1 ? 'the same' : 'DIFFERENT'}`);
