import { ridge } from '../../core/profiling/roofline.ts';
import type { MatrixKernel } from '../../core/profiling/weight-traffic.ts';
import type { PhasePoint } from './phase-points.ts';
import type { EngineProfile } from './profile-engine.ts';

/** Below this share of both roofs neither explains the time. */
const NEAR = 0.35;

const KERNEL_NAMES: Readonly<Record<MatrixKernel, string>> = {
  float32: 'float32',
  int8: 'int8 blocks',
  int4: 'int4 blocks',
  'row-int8': 'int8 rows',
};

/** What the numbers say, a sentence each. */
export function describeProfile(profile: EngineProfile): string[] {
  const { points, roofs, ceilings, traffic, run } = profile;
  const sum = run.stages.reduce((total, { selfMs }) => total + selfMs, 0);
  const passes = run.passes.reduce((total, { ms }) => total + ms, 0);
  const [prefill] = points.filter(({ phase }) => phase === 'prefill').sort((a, b) => b.tokens - a.tokens);
  const decode = points.filter(({ phase }) => phase === 'decode');
  const [one, most] = [decode[0], decode.at(-1)];
  return [
    `The stages add up to ${percent(sum / run.wallMs)} of the wall time; the forward passes are ${percent(passes / run.wallMs)} of it.`,
    `Here ${KERNEL_NAMES[traffic.kernel]} products reach ${giga(roofs.flopsPerS)} GFLOP/s and memory ${giga(roofs.bytesPerS)} GB/s: work with fewer than ${ridge(roofs).toFixed(1)} FLOPs a byte is bound by memory.`,
    ...(prefill ? [sentence(prefill)] : []),
    ...(one ? [sentence(one)] : []),
    ...(one && most && most !== one ? [sentence(most), gain(one, most)] : []),
    ...(decode.some(({ bytesPerS }) => bytesPerS > ceilings.memory)
      ? ['More bytes a second than memory gives: part of the weights stays in a cache.']
      : []),
  ];
}

function sentence({ phase, rows, tokens, bytes, flops, intensity, ofMemory, ofCompute, bound }: PhasePoint): string {
  const who = phase === 'decode' ? `Decode at batch ${rows}` : `Prefill of ${Math.round(tokens)} tokens at a time`;
  const work = `${size(bytes / tokens)} and ${(flops / tokens / 1e6).toFixed(1)} MFLOP a token, ${intensity.toFixed(1)} FLOPs a byte`;
  const [share, roof] = bound === 'memory' ? [ofMemory, 'bandwidth'] : [ofCompute, 'arithmetic'];
  const verdict =
    share < NEAR
      ? `below the ${bound} roof, but far from it: overhead a pass or a slow kernel is what costs`
      : `${bound}-bound`;
  return `${who} moves ${work}, and reaches ${percent(share)} of this machine's ${roof}: ${verdict}.`;
}

function gain(one: PhasePoint, most: PhasePoint): string {
  const sizes = `From batch ${one.rows} to ${most.rows}`;
  const longer = most.ms / one.ms;
  // More rows are more work: where they took less time, something else decided it.
  if (longer < 1) {
    return `${sizes} a decode pass did not take longer: ${Math.min(one.passes, most.passes)} passes are too few to compare here; generate more tokens.`;
  }
  const faster = most.tokens / most.ms / (one.tokens / one.ms);
  const reason = faster > 1 ? ', since its weights are read once for all rows' : '';
  return `${sizes} a decode pass takes ${longer.toFixed(1)} times as long and gives ${faster.toFixed(1)} times as many tokens a second${reason}.`;
}

const percent = (share: number) => `${(100 * share).toFixed(share < 0.1 || share > 0.99 ? 1 : 0)}%`;
const giga = (value: number) => (value / 1e9).toFixed(0);
const size = (bytes: number) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(0)} kB`);
