/** The two engines in turn, acceptance and speed by kind of text and by k, as tables and pictures. */
import { writeFileSync } from 'node:fs';
import { type Engine, prefixCaching, promptLookup, speculative } from 'rxllm';
import { median, quartiles } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { barChart } from '../support/bar-chart.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { lineChart } from '../support/line-chart.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';
import {
  acceptance,
  always,
  kinds,
  type Outcome,
  outcomeOf,
  tokensPerPass,
  tokensPerS,
  withRecipes,
} from './by-kind.ts';
import { P, Q, rest, TOKENS } from './example.ts';

const PAIRS = size(7, 1);
const LENGTHS = [1, 2, 3, 4, 6, 8].slice(0, size(6, 2));

const compared = await beforeAndAfter([prefixCaching.name, speculative.name], {
  pairs: size(15, 1),
  maxTokens: size(256, 8),
});

/** Rounds of every engine in turn on one kind of text, one more to warm up. */
async function inTurn(engines: readonly Engine[], kind: (typeof kinds)[number]): Promise<Outcome[][]> {
  const outcomes = engines.map((): Outcome[] => []);
  for (let round = -1; round < PAIRS; round++) {
    for (const [at, engine] of engines.entries()) {
      const outcome = await outcomeOf(engine, kind);
      if (round >= 0) outcomes[at]!.push(outcome);
    }
  }
  return outcomes;
}

const ratios = (before: readonly Outcome[], after: readonly Outcome[]) =>
  after.map((outcome, pair) => tokensPerS(outcome) / tokensPerS(before[pair]!));

const named = [
  { name: 'plain', recipe: prefixCaching },
  { name: '`speculative`', recipe: speculative },
  { name: 'always 4', recipe: always(4) },
  { name: 'prompt lookup, k = 8', recipe: always(8, promptLookup()) },
];
const rows: (string | number)[][] = [];
await withRecipes(
  named.map(({ recipe }) => recipe),
  async (engines) => {
    for (const kind of kinds) {
      const outcomes = await inTurn(engines, kind);
      for (const [at, { name }] of named.entries()) {
        const last = outcomes[at]!.at(-1)!;
        const gained = ratios(outcomes[0]!, outcomes[at]!);
        rows.push([
          kind.kind,
          name,
          last.drafts === 0 ? '–' : acceptance(last).toFixed(3),
          last.drafts === 0 ? '–' : tokensPerPass(last).toFixed(2),
          median(outcomes[at]!.map(tokensPerS)).toFixed(0),
          at === 0 ? '' : `${median(gained).toFixed(2)} (${quartiles(gained, 2)})`,
        ]);
      }
    }
  },
);

/** Acceptance and speed against k, of the kinds that people write. */
const shown = kinds.filter(({ kind }) => kind !== 'repeating');
const curves = await withRecipes([prefixCaching, ...LENGTHS.map((k) => always(k))], async (engines) => {
  const found: { readonly name: string; readonly accepted: [number, number][]; readonly speed: [number, number][] }[] =
    [];
  for (const kind of shown) {
    const [plain, ...outcomes] = await inTurn(engines, kind);
    found.push({
      name: kind.kind,
      accepted: LENGTHS.map((k, at) => [k, acceptance(outcomes[at]!.at(-1)!)]),
      speed: [[0, 1], ...LENGTHS.map((k, at): [number, number] => [k, median(ratios(plain!, outcomes[at]!))])],
    });
  }
  return found;
});

if (!args.quick) {
  const write = (name: string, svg: string) => writeFileSync(new URL(name, import.meta.url), svg);
  const twice = (values: readonly number[]) => values.map((value) => 2 * value);
  const least = P.map((p, id) => Math.min(p, Q[id]!));
  write(
    'accept-or-reject.svg',
    barChart('Accept or reject: what stands, and what is drawn instead', TOKENS, [
      { name: 'q, what the draft is drawn from', values: twice(Q) },
      { name: 'p, what the target would say', values: twice(P) },
      { name: 'min(p, q): what stands, 0.75 in all', values: twice(least) },
      { name: 'max(0, p − q): where one fell, 0.25 in all', values: twice(rest.map((one) => one / 4)) },
    ]),
  );
  write(
    'acceptance.svg',
    lineChart({
      title: 'Drafted tokens that stand, against k',
      x: 'k, tokens drafted',
      y: 'share',
      series: curves.map(({ name, accepted }) => ({ name, points: accepted })),
    }),
  );
  write(
    'speed.svg',
    lineChart({
      title: 'Speed against k',
      x: 'k, tokens drafted; 0 is plain decoding',
      y: '× plain',
      series: curves.map(({ name, speed }) => ({ name, points: speed })),
    }),
  );
}

writeMeasured(
  import.meta.url,
  `${compared}

Greedy, one request at a time, ${size(128, 8)} tokens at most, ${PAIRS} rounds in turn; tokens/s without the prompt:

${markdownTable(['text', 'decoding', 'accepted', 'tokens a pass', 'tokens/s', '× plain (quartiles)'], rows)}

![Acceptance against k](acceptance.svg)

![Speed against k](speed.svg)`,
);
