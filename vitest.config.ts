import { defineConfig } from 'vitest/config';
import { SLOW } from './vitest.slow.config.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // test/package has a configuration of its own: see vitest.package.config.ts.
    exclude: ['test/**/fixtures/**', 'test/package/**', 'node_modules/**', ...SLOW],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: 'forks',
    maxWorkers: 3,
  },
});
