import { defineConfig } from 'vitest/config';

const shared = { testTimeout: 20_000, hookTimeout: 20_000, pool: 'forks' } as const;
const FIXTURES = 'test/**/fixtures/**';
/** Those of a folder of their own are known by it, the others by their names. */
const BY_FOLDER = ['test/browser/**', 'test/package/**'];

/**
 * One project for each command of package.json, and for what may not run beside the rest. Projects of one `groupOrder`
 * run side by side.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [FIXTURES, ...BY_FOLDER, 'test/**/*.{slow,long,alone}.test.ts'],
          // Some CI environments ask for colours; what the tests read has none.
          env: { NO_COLOR: '1' },
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      // They start and kill whole processes many times, or wait as long as the rules do. They mostly wait, so more of
      // them than cores run side by side.
      {
        test: {
          ...shared,
          name: 'slow',
          include: ['test/**/*.slow.test.ts'],
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
      // The longest of them. The checks of every change have no time for these.
      {
        test: {
          ...shared,
          name: 'long',
          include: ['test/**/*.long.test.ts'],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      // Those that hold answers to their second while they take what the machine has: one at a time, after the others.
      {
        test: {
          ...shared,
          name: 'alone',
          include: ['test/**/*.alone.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      // Pages in a real browser. They are skipped, and said to be, where there is no Chromium.
      {
        test: {
          ...shared,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      // Packing and installing takes most of a minute and the network.
      {
        test: {
          ...shared,
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
