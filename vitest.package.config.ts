import { defineConfig } from 'vitest/config';

/** Packing and installing takes most of a minute and the network, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/package/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 300_000,
    pool: 'forks',
  },
});
