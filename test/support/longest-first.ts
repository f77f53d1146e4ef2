import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, so that none of them is left to run alone at the end. */
const LONGEST = [
  'src/engines/equality.test.ts',
  'test/load.test.ts',
  'src/engines/batch-equality.test.ts',
  'src/gpu/kernels/flash-attention.test.ts',
  'src/cli/cli.test.ts',
  'test/paged-engines-goldens.test.ts',
  'test/goldens-on-runners.test.ts',
  'src/gpu/kernels/gemm.test.ts',
  'test/speculation.test.ts',
  'src/cli/bench.test.ts',
  'src/cli/profile.test.ts',
  'src/cli/chapter.test.ts',
  'src/core/speculation/rejection.test.ts',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at < 0 ? LONGEST.length : at;
};

/** Vitest's order, which in a fresh checkout is by size, with these before all others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
