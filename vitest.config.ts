import { defineConfig } from 'vitest/config';

/** Only a hang takes so long. */
const expect = { poll: { timeout: 120_000 } };
const SLOW = 'test/**/*.slow.test.ts';

/** `npm test` is `unit`; `npm run test:full` is `slow`: whole processes, the browser, the package, other programs. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          expect,
          include: ['test/**/*.test.ts'],
          exclude: [SLOW],
          // The files of a thread share its modules: loading them takes longer than most tests.
          pool: 'threads',
          isolate: false,
          maxWorkers: '100%',
          // Longer than what waits inside a test, whose message says for what.
          testTimeout: 150_000,
          hookTimeout: 150_000,
          // Some CI environments ask for colours; what the tests read has none.
          env: { NO_COLOR: '1' },
        },
      },
      {
        test: {
          name: 'slow',
          expect,
          include: [SLOW],
          // They mostly wait for other processes: more of them than cores.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          // Packing and installing uses the network.
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
