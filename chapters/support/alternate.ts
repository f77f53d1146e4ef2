import { createEngine, type GenerateResult, loadModel, type Recipe } from 'rxllm';
import { args, size } from './args.ts';
import { median, quantile } from './quantile.ts';
import { markdownTable } from './table.ts';

export interface Side {
  readonly name: string;
  readonly results: readonly GenerateResult[];
}

/** Runs two engines in turn, so that whatever else the machine does meets both, on the same greedy request. */
export async function alternate(
  recipes: readonly [Recipe, Recipe],
  pairs: number,
  tokens: number,
): Promise<[Side, Side]> {
  const model = await loadModel(args.model);
  const engines = [await createEngine(recipes[0], model), await createEngine(recipes[1], model)] as const;
  const run = (which: 0 | 1) => engines[which].generate(args.prompt, tokens, { ignoreEos: true });
  for (let warmup = 0; warmup < size(3, 1); warmup++) {
    await run(0);
    await run(1);
  }
  const [a, b]: [GenerateResult[], GenerateResult[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    a.push(await run(0));
    b.push(await run(1));
  }
  await Promise.all(engines.map((engine) => engine.close()));
  return [
    { name: recipes[0].name, results: a },
    { name: recipes[1].name, results: b },
  ];
}

/** The medians of both, and the median of the ratios of the pairs, with its quartiles. */
export function comparison([a, b]: readonly [Side, Side]): string {
  const middle = ({ results }: Side, figure: 'throughput' | 'ttftMs' | 'tpotMs', digits: number) => {
    const value = median(results.map(({ metrics }) => metrics[figure]));
    return value === 0 ? '–' : value.toFixed(digits);
  };
  const rows = [a, b].map((side) => [
    `\`${side.name}\``,
    middle(side, 'throughput', 1),
    middle(side, 'ttftMs', 2),
    middle(side, 'tpotMs', 2),
  ]);
  const ratios = b.results.map(({ metrics }, pair) => metrics.throughput / a.results[pair]!.metrics.throughput);
  const at = (share: number) => quantile(ratios, share).toFixed(3);
  const { inputTokens, outputTokens } = a.results[0]!.metrics;
  return `${markdownTable(['engine', 'tokens/s', 'TTFT ms', 'TPOT ms'], rows)}

A prompt of ${inputTokens} tokens, ${outputTokens} tokens out, ${ratios.length} pairs in turn. Tokens/s of \`${b.name}\` over \`${a.name}\`: median ${at(0.5)} (quartiles ${at(0.25)} to ${at(0.75)}).`;
}
