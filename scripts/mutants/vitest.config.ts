import { defineConfig } from 'vitest/config';

/** The tests for mutants of src/core and of coverage. Random histories take too long for 3,000 mutants. */
export default defineConfig({
  test: {
    include: ['test/core/**/*.test.ts', 'test/receiver/coverage.test.ts'],
    exclude: ['test/core/properties.test.ts'],
  },
});
