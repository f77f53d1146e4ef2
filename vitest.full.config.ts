import { defineConfig, mergeConfig } from 'vitest/config';
import quick from './vitest.config.ts';

/** The long property runs, fuzzers and soaks (`*.full.ts`), after the quick tests. */
export default mergeConfig(
  quick,
  defineConfig({ test: { include: ['src/**/*.full.ts', 'test/**/*.full.ts'], testTimeout: 600_000 } }),
);
