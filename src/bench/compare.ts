import { percentile } from './stats.ts';

/** One of those compared; `run` is one turn. */
export interface Contender<T> {
  readonly name: string;
  readonly run: () => Promise<T>;
}

export const MIN_PAIRS = 7;

/**
 * Runs the contenders in turn, the order reversed from round to round (A B, B A, A B …), so that neither a slow drift
 * of the machine nor the place in a round favours one. Gives the results of each, round by round.
 */
export async function alternate<T>(
  contenders: readonly Contender<T>[],
  rounds: number,
  onTurn: () => void = () => {},
): Promise<readonly (readonly T[])[]> {
  const results = contenders.map((): T[] => []);
  const order = [...contenders.entries()];
  for (let round = 0; round < rounds; round++) {
    for (const [index, contender] of round % 2 === 0 ? order : order.toReversed()) {
      results[index]!.push(await contender.run());
      onTurn();
    }
  }
  return results;
}

/** Of the pair ratios: their median and quartiles. */
export interface Ratio {
  readonly median: number;
  readonly q1: number;
  readonly q3: number;
  readonly pairs: number;
}

/**
 * `b / a` pair by pair: what one measuring of the machine has in common cancels out. Pairs of which one was not
 * measured (0) are left out; undefined where all are.
 */
export function ratio(a: readonly number[], b: readonly number[]): Ratio | undefined {
  const ratios = a.flatMap((value, pair) => (value > 0 && b[pair]! > 0 ? [b[pair]! / value] : []));
  if (ratios.length === 0) return undefined;
  const [q1, median, q3] = [25, 50, 75].map((percent) => percentile(ratios, percent));
  return { median: median!, q1: q1!, q3: q3!, pairs: ratios.length };
}
