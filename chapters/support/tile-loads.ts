/** What a GEMM's tiles are, from which its loads follow. */
export interface Tiles {
  /** Of C, a workgroup, and of k, a turn. Without one, each thread loads for itself. */
  readonly workgroup?: { readonly rows: number; readonly columns: number; readonly depth: number };
  /** Of C, a thread. */
  readonly thread: { readonly rows: number; readonly columns: number };
}

/** Numbers loaded for a multiplication or addition. */
export interface Loads {
  readonly fromMemory: number;
  readonly fromWorkgroup: number;
}

/**
 * For each k a tile of `rows × columns` takes `rows + columns` numbers and does `rows × columns` multiply-adds, of two
 * FLOP each.
 */
const loadsPerFlop = ({ rows, columns }: { readonly rows: number; readonly columns: number }) =>
  (rows + columns) / (2 * rows * columns);

export const tileLoads = ({ workgroup, thread }: Tiles): Loads =>
  workgroup === undefined
    ? { fromMemory: loadsPerFlop(thread), fromWorkgroup: 0 }
    : { fromMemory: loadsPerFlop(workgroup), fromWorkgroup: loadsPerFlop(thread) };

/** A table's row of them. */
export function loadsRow(name: string, k: number, tiles: Tiles): (string | number)[] {
  const { fromMemory, fromWorkgroup } = tileLoads(tiles);
  const shown = (loads: number) => (loads === 0 ? '–' : `1 / ${Number((1 / loads).toFixed(1))}`);
  return [name, Math.round(2 * k * fromMemory), shown(fromMemory), shown(fromWorkgroup)];
}

export const LOADS_HEAD = ['kernel', 'loads a result', 'loads a FLOP, memory', 'workgroup memory'];
