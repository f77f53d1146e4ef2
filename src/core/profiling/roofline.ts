/** What a machine can do at most: the roofs (Williams, Waterman and Patterson, 2009). */
export interface Roofs {
  readonly flopsPerS: number;
  readonly bytesPerS: number;
}

/** Some work, and how long it took. */
export interface Measured {
  readonly flops: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface Placed {
  /** FLOPs a byte. */
  readonly intensity: number;
  readonly flopsPerS: number;
  readonly bytesPerS: number;
  /** Of the roofs, 0 to 1; above 1 where a roof does not hold, as for bytes that a cache has. */
  readonly ofCompute: number;
  readonly ofMemory: number;
  /** The roof that is lower at this intensity. */
  readonly bound: 'memory' | 'compute';
}

/** The intensity at which the two roofs meet: work with less is bound by memory, with more by arithmetic. FLOPs a byte. */
export const ridge = ({ flopsPerS, bytesPerS }: Roofs): number => flopsPerS / bytesPerS;

/** FLOP/s that can be had at an intensity. */
export const attainable = (roofs: Roofs, intensity: number): number =>
  Math.min(roofs.flopsPerS, intensity * roofs.bytesPerS);

export function place(roofs: Roofs, { flops, bytes, ms }: Measured): Placed {
  const intensity = flops / bytes;
  const [flopsPerS, bytesPerS] = [(flops * 1000) / ms, (bytes * 1000) / ms];
  return {
    intensity,
    flopsPerS,
    bytesPerS,
    ofCompute: flopsPerS / roofs.flopsPerS,
    ofMemory: bytesPerS / roofs.bytesPerS,
    bound: intensity < ridge(roofs) ? 'memory' : 'compute',
  };
}
