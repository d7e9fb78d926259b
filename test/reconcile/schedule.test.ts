import { expect, onTestFinished, test } from 'vitest';
import { startSchedule } from '../../src/reconcile/schedule.ts';
import { virtualTime } from './mirror.ts';

const EVERY_MINUTE = '* * * * *';
const MINUTE = 60_000;

function start(reconcileCron: string | null, resyncCron: string | null, job?: () => Promise<unknown>) {
  const { pass } = virtualTime();
  const ran: string[] = [];
  const failed: string[] = [];
  const run = (name: string) => async () => {
    ran.push(name);
    await job?.();
  };
  const schedule = startSchedule(
    { reconcileCron, resyncCron, timezone: 'Asia/Bangkok' },
    { reconcile: run('reconcile'), resync: run('resync') },
    (error, name) => failed.push(`${name}: ${String(error)}`),
  );
  onTestFinished(() => schedule.stop());
  return { pass, schedule, ran, failed };
}

test('each job runs at its own times, and one that is off never does', async () => {
  const { pass, schedule, ran } = start(EVERY_MINUTE, null);
  await pass(2 * MINUTE);
  expect(ran).toEqual(['reconcile', 'reconcile']);
  schedule.stop();
  await pass(5 * MINUTE);
  expect(ran).toHaveLength(2);
});

test('a job that fails is reported, and runs again', async () => {
  const { pass, ran, failed } = start(null, EVERY_MINUTE, () => Promise.reject(new Error('no')));
  await pass(2 * MINUTE);
  expect(ran).toHaveLength(2);
  expect(failed[0]).toBe('resync: Error: no');
});

test('a job that takes longer than its interval is not started a second time meanwhile', async () => {
  const end = Promise.withResolvers<undefined>();
  const { pass, ran } = start(EVERY_MINUTE, null, () => end.promise);
  await pass(5 * MINUTE);
  expect(ran).toHaveLength(1);
  end.resolve(undefined);
  await pass(MINUTE);
  // A late minute and the one after it may be run within one look.
  expect(ran.length).toBeGreaterThan(1);
});
