/**
 * WGSL that folds `array[0 … threads − 1]` in workgroup memory into `array[0]`, in log₂ `threads` turns, for a power of
 * two. `combine` gives the value of two.
 *
 *     ▒ ▒ ▒ ▒ ▒ ▒ ▒ ▒
 *     └─┼─┼─┼─┘ │ │ │
 *       └─┼─┼───┘ │ │
 *     ▒ ▒ ▒ ▒
 *     ▒ ▒
 *     ▒
 */
export const workgroupReduce = (
  array: string,
  threads: number,
  combine: (a: string, b: string) => string,
): string => /* wgsl */ `
  workgroupBarrier();
  for (var half = ${threads / 2}u; half > 0u; half >>= 1u) {
    if (thread < half) { ${array}[thread] = ${combine(`${array}[thread]`, `${array}[thread + half]`)}; }
    workgroupBarrier();
  }`;
