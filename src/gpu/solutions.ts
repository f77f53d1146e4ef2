import type { Dispatch } from './kernel.ts';
import { attentionScores, attentionValues } from './kernels/attention-naive.ts';
import type { AttentionShape } from './kernels/attention-shape.ts';
import { flashAttention } from './kernels/flash-attention.ts';
import { type FlashTile, flashTile } from './kernels/flash-tile.ts';
import { lanesFor, type PagedTile, pagedAttention } from './kernels/paged-attention.ts';
import { pagedMerge } from './kernels/paged-merge.ts';
import { type PagedShape, partialBytes } from './kernels/paged-shape.ts';
import { threePassSoftmax } from './kernels/softmax-three-pass.ts';
import { byKernel, type Solution } from './solution.ts';

/** Scores, softmax, values, for some heads at a time: two numbers in memory for each query, key and head of these. */
export function naiveAttention(shape: AttentionShape & { readonly tile?: number }, headsAtOnce: number): Solution {
  return async (gpu, [q, k, v], o, allocate) => {
    const { tokens, heads } = shape;
    const most = Math.min(headsAtOnce, heads);
    const scores = allocate(most * tokens * tokens * Float32Array.BYTES_PER_ELEMENT);
    const weights = allocate(scores.size);
    const dispatches: Dispatch[] = [];
    for (let firstHead = 0; firstHead < heads; firstHead += most) {
      const range = { ...shape, firstHead, headCount: Math.min(most, heads - firstHead) };
      const softmax = threePassSoftmax({ rows: range.headCount * tokens, columns: tokens });
      dispatches.push(
        await gpu.prepare(attentionScores(range), [q!, k!, scores]),
        await gpu.prepare(softmax, [scores, weights]),
        await gpu.prepare(attentionValues(range), [weights, v!, o]),
      );
    }
    return dispatches;
  };
}

/** One kernel, in the largest tile that this GPU has workgroup memory for, unless told otherwise. */
export function fittedFlash(shape: AttentionShape & Partial<FlashTile>): Solution {
  return (gpu, ...buffers) => {
    const tile = flashTile(shape.headDim, gpu.device.limits.maxComputeWorkgroupStorageSize);
    return byKernel(flashAttention({ ...tile, ...shape }))(gpu, ...buffers);
  };
}

/** Partitions, then their merging; with subgroups where the GPU has them, unless told otherwise. */
export function pagedDecode(
  shape: PagedShape,
  { subgroups, ...tile }: Partial<PagedTile> & { readonly subgroups?: boolean } = {},
): Solution {
  return async (gpu, inputs, o, allocate) => {
    const { outputs, sums } = partialBytes(shape);
    const parts = [allocate(outputs), allocate(sums)];
    const shuffles = subgroups ?? gpu.subgroupSize > 1;
    const lanes = lanesFor(shape.headDim, shuffles ? gpu.subgroupSize : Number.POSITIVE_INFINITY);
    const attention = pagedAttention({ lanes, ...shape, ...tile, subgroups: shuffles });
    return [await gpu.prepare(attention, [...inputs, ...parts]), await gpu.prepare(pagedMerge(shape), [...parts, o])];
  };
}
