import { defineConfig } from 'vitest/config';
import { ALONE, LONG, SLOW } from './vitest.slow.config.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // test/package and test/browser have configurations of their own.
    exclude: [
      'test/**/fixtures/**',
      'test/package/**',
      'test/browser/**',
      'node_modules/**',
      ...SLOW,
      ...LONG,
      ...ALONE,
    ],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Some CI environments ask for colours; what the tests read has none.
    env: { NO_COLOR: '1' },
    pool: 'forks',
    maxWorkers: 3,
    // Which tests were skipped, and why: vitest itself only counts them.
    reporters: ['default', './scripts/skipped-tests.ts'],
  },
});
