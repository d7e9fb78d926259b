import { defineConfig } from 'vitest/config';

/**
 * Tests that start and kill whole processes many times, or wait as long as the rules do: `npm run test:slow`. They
 * mostly wait, so more of them than cores run side by side; `npm test` runs everything else.
 */
export const SLOW = [
  'test/cli/doors.test.ts',
  'test/cli/export/export.test.ts',
  'test/cli/prune.test.ts',
  'test/cli/rebuild.test.ts',
  'test/cli/resync-restart.test.ts',
  'test/cli/resync-served.test.ts',
  'test/cli/send.test.ts',
  'test/cli/serve.test.ts',
  'test/cli/status.test.ts',
  'test/cli/terminal.test.ts',
  'test/crash/crash.test.ts',
  'test/hostile/huge-answer.test.ts',
  'test/hostile/sockets.test.ts',
  'test/intake/bounds.test.ts',
  'test/ops/silent-followers.test.ts',
  'test/ops/stalled-reader.test.ts',
  'test/process/credentials.test.ts',
  'test/process/damaged-file.test.ts',
  'test/process/downtime.test.ts',
  'test/process/failing-disk.test.ts',
  'test/process/faults.test.ts',
  'test/process/first-start.test.ts',
  'test/process/full-disk.test.ts',
  'test/process/hand-edit.test.ts',
  'test/process/healed.test.ts',
  'test/process/huge-answers.test.ts',
  'test/process/kill.test.ts',
  'test/process/locked-store.test.ts',
  'test/process/long-reader.test.ts',
  'test/process/metrics.test.ts',
  'test/process/odd-answers.test.ts',
  'test/process/one-look.test.ts',
  'test/process/operator.test.ts',
  'test/process/order-flow.test.ts',
  'test/process/pauses.test.ts',
  'test/process/read-only.test.ts',
  'test/process/reads-and-webhooks.test.ts',
  'test/process/refused-product.test.ts',
  'test/process/refused-start.test.ts',
  'test/process/removal.test.ts',
  'test/process/restored.test.ts',
  'test/process/secrecy.test.ts',
  'test/process/slow-disk.test.ts',
  'test/process/stop.test.ts',
  'test/process/stuck-log.test.ts',
  'test/process/unknown-variant.test.ts',
  'test/process/upstream-trouble.test.ts',
  'test/process/wrong-store.test.ts',
  'test/readers/pruned.test.ts',
  'test/readers/readers.test.ts',
  'test/sandbox/command.test.ts',
  'test/store/lost-mirror.test.ts',
  'test/store/mark.test.ts',
];

/** The longest of them. The checks of every change have no time for these. */
export const LONG = [
  'test/cli/backup.test.ts',
  'test/cli/demo/demo.test.ts',
  'test/cli/doctor/doctor.test.ts',
  'test/cli/resync-alone.test.ts',
  'test/cli/verify/verify.test.ts',
  'test/process/large-product.test.ts',
  'test/reconcile/outage.test.ts',
];

/** Those that hold answers to their second while they take what the machine has: one at a time, after the others. */
export const ALONE = ['test/process/activation.test.ts', 'test/process/flood.test.ts'];

const shared = { testTimeout: 20_000, hookTimeout: 20_000, pool: 'forks' } as const;
const beside = { ...shared, maxWorkers: 3, sequence: { groupOrder: 0 } };

export default defineConfig({
  test: {
    projects: [
      { test: { ...beside, name: 'slow', include: SLOW } },
      { test: { ...beside, name: 'long', include: LONG } },
      { test: { ...shared, name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
