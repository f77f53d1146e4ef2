import { type Placed, place, type Roofs } from '../../core/profiling/roofline.ts';
import type { MatrixKernel } from '../../core/profiling/weight-traffic.ts';
import type { Ceilings } from './ceilings.ts';
import type { Phase } from './phase.ts';
import type { PassRecord } from './stage-run.ts';

/** The passes of a phase with so many rows, together. */
export interface PhasePoint extends Placed {
  readonly phase: Phase;
  readonly rows: number;
  readonly passes: number;
  /** Of a pass, on average. */
  readonly tokens: number;
  readonly ms: number;
  readonly flops: number;
  readonly bytes: number;
}

/** The roofs for a model whose matrices are multiplied by this kernel. */
export const roofsFor = ({ memory, flops }: Pick<Ceilings, 'memory' | 'flops'>, kernel: MatrixKernel): Roofs => ({
  flopsPerS: flops[kernel],
  bytesPerS: memory,
});

const LEAST_SHARE = 0.25;

/** Where each phase stands under the roofs, by the rows of its passes. */
export function phasePoints(passes: readonly PassRecord[], roofs: Roofs): PhasePoint[] {
  return (['prefill', 'decode'] as const).flatMap((phase) => {
    const ofPhase = passes.filter((pass) => pass.phase === phase);
    const sizes = [...new Set(ofPhase.map(({ rows }) => rows))].sort((a, b) => a - b);
    const groups = sizes.map((rows) => ofPhase.filter((pass) => pass.rows === rows));
    const most = Math.max(...groups.map(({ length }) => length));
    return groups.flatMap((ofSize) => {
      // While a batch fills or empties there are a few passes of other sizes.
      if (phase === 'decode' && ofSize.length < most * LEAST_SHARE) return [];
      const mean = (of: (pass: PassRecord) => number) =>
        ofSize.reduce((sum, pass) => sum + of(pass), 0) / ofSize.length;
      const work = {
        tokens: mean(({ tokens }) => tokens),
        flops: mean(({ flops }) => flops),
        bytes: mean(({ bytes }) => bytes),
        ms: mean(({ ms }) => ms),
      };
      return [{ phase, rows: ofSize[0]!.rows, passes: ofSize.length, ...work, ...place(roofs, work) }];
    });
  });
}
