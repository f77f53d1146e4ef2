import { defineConfig } from 'vitest/config';
import quick from './vitest.config.ts';

/** The long property runs, fuzzers and soaks (`*.full.ts`). */
export default defineConfig({
  ...quick,
  test: {
    ...quick.test,
    include: ['src/**/*.full.ts', 'test/**/*.full.ts'],
    typecheck: { enabled: false },
    env: { RXLLM_SPIN: '0' },
    testTimeout: 600_000,
  },
});
