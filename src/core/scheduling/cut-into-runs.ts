/**
 * Cuts rows into the runs (forward passes) that cost least together. A run costs `runCost` plus the number of its rows
 * times the size of its largest, to which all are padded. With rows in descending order of size, the best runs are
 * stretches of neighbours, which dynamic programming over the last cut finds.
 */
export function cutIntoRuns<T>(rows: readonly T[], sizeOf: (row: T) => number, runCost: number): (readonly T[])[] {
  const sizes = rows.map(sizeOf);
  const [widest, narrowest] = [Math.max(...sizes), Math.min(...sizes)];
  // No cut saves more than all the padding there is.
  if ((widest - narrowest) * (rows.length - 1) <= runCost) return [rows];
  const order = sizes.map((_, index) => index).sort((a, b) => sizes[b]! - sizes[a]!);
  /** At index n, for the n largest rows: the least cost, and where the last run begins. */
  const costs = [0];
  const begins = [0];
  for (let end = 1; end <= rows.length; end++) {
    let least = Number.POSITIVE_INFINITY;
    for (let begin = 0; begin < end; begin++) {
      const cost = costs[begin]! + runCost + (end - begin) * sizes[order[begin]!]!;
      if (cost >= least) continue;
      least = cost;
      begins[end] = begin;
    }
    costs.push(least);
  }
  const runs: T[][] = [];
  for (let end = rows.length; end > 0; end = begins[end]!) {
    runs.unshift(order.slice(begins[end]!, end).map((index) => rows[index]!));
  }
  return runs;
}
