import { defineConfig } from 'vitest/config';
import quick from './vitest.config.ts';

/** Every file of every chapter in quick mode, by what it prints: a child process each, so apart from the quick tests. */
export default defineConfig({
  ...quick,
  test: { ...quick.test, include: ['test/chapters.smoke.ts'], typecheck: { enabled: false } },
});
