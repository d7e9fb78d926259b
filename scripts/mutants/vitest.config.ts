import { defineConfig } from 'vitest/config';

/** The tests that mutants of src/core are run against. The random histories take too long for each of 3,000 mutants. */
export default defineConfig({
  test: { include: ['test/core/**/*.test.ts'], exclude: ['test/core/properties.test.ts'] },
});
