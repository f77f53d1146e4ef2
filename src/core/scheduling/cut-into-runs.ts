/**
 * Cuts rows into runs so that what is computed costs least: a run costs `runCost`, and its rows times its widest one, for
 * all are padded to that. In descending order of size the best runs are neighbours, so that looking at every last cut
 * finds them.
 */
export function cutIntoRuns<T>(rows: readonly T[], sizeOf: (row: T) => number, runCost: number): (readonly T[])[] {
  const sizes = rows.map(sizeOf);
  const [widest, narrowest] = [Math.max(...sizes), Math.min(...sizes)];
  // No cut saves more than all the padding there is.
  if ((widest - narrowest) * (rows.length - 1) <= runCost) return [rows];
  const order = sizes.map((_, index) => index).sort((a, b) => sizes[b]! - sizes[a]!);
  /** Of the first so many rows: the least cost, and where the last run of that begins. */
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
