import { describe } from 'vitest';
import { type Gpu, gpuOrReason } from '../../src/gpu/index.ts';

/** The machine's GPU, else Mesa's lavapipe. One a test file: forks do not share a device. */
const found = await gpuOrReason();

/** Tests that need an adapter: skipped, with the reason in their title, where there is none. */
export function describeOnGpu(title: string, tests: (gpu: Gpu) => void): void {
  if (typeof found === 'string') describe.skip(`${title} (skipped: ${found})`, () => {});
  else describe(title, () => tests(found));
}
