import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** Few workers and no spinning: two cores are soon oversubscribed by ONNX Runtime's own threads. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^rxllm$/, replacement: source('index.ts') },
      { find: /^rxllm\/(bench|gpu|operators|engines|transport)$/, replacement: source('$1/index.ts') },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A worker loads modules once for all its files, which saves a quarter of the time: each file cleans up behind itself.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    // The patience of test/support/waiting.ts.
    expect: { poll: { timeout: 30_000 } },
    // A recipe with a slot of the wrong kind must not compile: checked by the compiler, reported as tests.
    typecheck: { enabled: true, include: ['src/**/*.test-d.ts'] },
    // Lavapipe compiles each kernel anew; for vectors of 128 bits in half the time.
    env: { RXLLM_SPIN: '0', LP_NATIVE_VECTOR_WIDTH: '128' },
  },
});
