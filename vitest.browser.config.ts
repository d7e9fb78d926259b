import { defineConfig } from 'vitest/config';

/** Pages in a real browser: `npm run test:browser`. They are skipped, and said to be, where there is no Chromium. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
  },
});
