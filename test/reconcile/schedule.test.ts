import { expect, test } from 'vitest';
import { startSchedule, type Schedule } from '../../src/reconcile/schedule.ts';
import { eventually, throughout } from '../process/wait.ts';

const EVERY_SECOND = '* * * * * *';

function start(
  patterns: { reconcile: string | null; resync: string | null },
  jobs: { reconcile?: () => Promise<unknown>; resync?: () => Promise<unknown> } = {},
): { schedule: Schedule; ran: string[]; failed: string[] } {
  const ran: string[] = [];
  const failed: string[] = [];
  const job = (name: 'reconcile' | 'resync') => async () => {
    ran.push(name);
    await jobs[name]?.();
  };
  const schedule = startSchedule(
    { reconcileCron: patterns.reconcile, resyncCron: patterns.resync, timezone: 'Asia/Bangkok' },
    { reconcile: job('reconcile'), resync: job('resync') },
    (error, name) => failed.push(`${name}: ${String(error)}`),
  );
  return { schedule, ran, failed };
}

test.concurrent('each job runs at its own times, and one that is off never does', async () => {
  const { schedule, ran } = start({ reconcile: EVERY_SECOND, resync: null });
  await eventually(() => ran.length >= 2, { what: 'two runs' });
  schedule.stop();
  const count = ran.length;
  expect(ran).not.toContain('resync');
  await throughout(1_300, () => {
    expect(ran).toHaveLength(count);
  });
});

test.concurrent('a job that fails is told of, and runs again', async () => {
  const { ran, failed } = start(
    { reconcile: null, resync: EVERY_SECOND },
    { resync: () => Promise.reject(new Error('no')) },
  );
  await eventually(() => ran.length >= 2, { what: 'two runs' });
  expect(failed[0]).toBe('resync: Error: no');
});

test.concurrent(
  'a job that takes longer than its interval is not started a second time beside itself',
  async () => {
    const end = Promise.withResolvers<undefined>();
    const { ran } = start({ reconcile: EVERY_SECOND, resync: null }, { reconcile: () => end.promise });
    await eventually(() => ran.length === 1, { what: 'the run' });
    await throughout(2_200, () => {
      expect(ran).toHaveLength(1);
    });
    end.resolve(undefined);
    // A late second and the one after it may be run within one look.
    await eventually(() => ran.length >= 2, { what: 'the next run' });
  },
);
