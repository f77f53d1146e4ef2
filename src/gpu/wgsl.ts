/** A line for each of 0 to n − 1, as a compiler unrolls a loop: what is indexed by it can stay in registers. */
export const unroll = (n: number, line: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => line(i)).join('\n');

/** The components of a vec4. */
export const XYZW = ['x', 'y', 'z', 'w'] as const;

export const ceilDivide = (a: number, b: number): number => Math.ceil(a / b);

/** A score that `exp` makes 0; WGSL has no infinity. */
export const MASKED = '-3e38';
