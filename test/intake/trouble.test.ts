/** While the inbox cannot commit (docs/architecture.md#when-nothing-can-be-committed). */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { UnstoredDeliveries } from '../../src/intake/unstored.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { delivery, detail, item, readInput, values } from '../mirror/mirror-file.ts';
import { lockInbox, startIntake, startThreads, type Intake, type ThreadedIntake } from './intake.ts';

async function knowTea({ store }: Pick<Intake, 'store'> | ThreadedIntake): Promise<void> {
  const tea = detail('10', [{ id: '100', levels: { 1: 5 } }]);
  await store.writer.append(readInput('10', tea, { sentAtMs: Date.now() - 60_000 }));
}

const requested = ({ db }: Pick<Intake, 'db'>): unknown[] =>
  values(db, `SELECT product_id FROM read_requests WHERE reason = 'not_stored'`);

test('answers 503 within a second when the inbox cannot commit, and reads the products', async () => {
  const intake = await startThreads();
  await knowTea(intake);
  const lock = lockInbox(intake);
  const answers = await Promise.all([
    intake.post(delivery('a', item())),
    intake.post(delivery('b', item({ id: '999' }), item({ id: 7 }))),
    intake.post(delivery('c', item({ new: 1 }))),
  ]);
  for (const { status, body } of answers) {
    expect(status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ error: 'unavailable' });
  }
  await eventually(() => intake.unstored.noted === 3, { what: 'all three are noted' });
  await eventually(() => requested(intake).length === 1, { what: 'the re-read request is recorded' });
  const lines = intake.log.filter((line) => JSON.stringify(line).includes('is locked by another program'));
  expect(lines).toHaveLength(1);
  expect(['a', 'b', 'c']).toContain(present(lines[0])['requestId']);

  lock.release();
  expect(requested(intake)).toEqual(['10']);
  const lookups = 'SELECT variant_id FROM variants WHERE lookup_at_ms IS NOT NULL ORDER BY 1';
  await eventually(() => values(intake.db, lookups).join() === '7,999', {
    what: 'unknown variants are looked for',
  });
  await eventually(() => intake.unstored.size === 0, { what: 'nothing is kept in memory' });
  expect((await intake.post(delivery('d', item({ old: 4, new: 3 })))).status).toBe(204);
});

test('answers 503 in time for a late commit, and loses nothing either way', async () => {
  const intake = await startThreads();
  await knowTea(intake);
  const lock = lockInbox(intake);
  // The heartbeat waits for the lock first, so the delivery waits longer than its answer.
  const beat = intake.store.inbox
    .beat({ atMs: 1, clockMs: 1, missedSinceMs: null, changeSeq: 0, stream: null })
    .catch(() => undefined);
  const { status } = await intake.post(delivery('late', item()));
  lock.release();
  expect(status).toBe(503);
  await beat;
  const isKept = () => values(intake.db, 'SELECT 1 FROM inbox').length === 1;
  await eventually(() => isKept() || requested(intake).length === 1, { what: 'it is merged, or read about' });
  expect(intake.unstored.noted).toBe(isKept() ? 0 : 1);
});

test('makes the whole mirror suspect for an unreadable body that was not stored', async () => {
  const intake = await startThreads();
  await knowTea(intake);
  const lock = lockInbox(intake);
  expect((await intake.post(new TextEncoder().encode('no JSON'))).status).toBe(503);
  await eventually(() => values(intake.db, 'SELECT suspect FROM mirror_stock')[0] === 1, {
    what: 'it is suspect',
  });
  lock.release();
});

test('records pending read requests when the service stops', async () => {
  const intake = await startIntake();
  await knowTea(intake);
  const body = delivery('a', item());
  intake.unstored.note(body, new Error('as if the store had refused it'));
  await intake.unstored.stop();
  expect(requested(intake)).toEqual(['10']);
  expect(intake.unstored.size).toBe(0);
});

test('makes the whole mirror suspect beyond 10,000 variants', async () => {
  const intake = await startIntake();
  await knowTea(intake);
  const items = Array.from({ length: 10_001 }, (_, n) => item({ id: String(1_000 + n) }));
  intake.unstored.note(delivery('a', ...items), new Error('as if the store had refused it'));
  await intake.unstored.stop();
  expect(values(intake.db, 'SELECT suspect FROM mirror_stock')).toEqual([1]);
});

test('treats a connection dropped unread as a possible loss', async () => {
  const intake = await startIntake();
  const appended = vi.spyOn(intake.store.writer, 'append');
  intake.drop();
  await intake.unstored.stop();
  expect(appended.mock.calls).toMatchObject([[{ kind: 'missed', why: 'turned_away' }]]);
});

test('reports requests turned away as a possible loss once in 15 minutes, and at a stop', async () => {
  const intake = await startIntake();
  await knowTea(intake);
  const appended = vi.spyOn(intake.store.writer, 'append');
  let nowMs = Date.now();
  const { writer } = intake.store;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const unstored = new UnstoredDeliveries({ writer, now: () => nowMs, log: pino({ enabled: false }) });
  const isReported = async (times: number): Promise<void> => {
    unstored.noteTurnedAway();
    vi.advanceTimersByTime(500);
    await eventually(() => appended.mock.calls.length === times, { what: `report ${times}` });
  };
  await isReported(1);
  await isReported(1);
  nowMs += 15 * 60_000;
  await isReported(2);
  await isReported(2);
  await unstored.stop();
  expect(appended).toHaveBeenCalledTimes(3);
});

test('reports in healthz whether a delivery could be committed now', async () => {
  const intake = await startThreads();
  expect(await intake.ask('GET', '/healthz')).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  const lock = lockInbox(intake);
  const asked = await eventually(
    async () => {
      const answer = await intake.ask('GET', '/healthz');
      return answer.status === 503 && answer;
    },
    { what: 'the trouble shows' },
  );
  expect(JSON.parse(asked.body)).toMatchObject({ error: 'unavailable' });
  lock.release();
  await eventually(async () => (await intake.ask('GET', '/healthz')).status === 200, {
    what: 'it is well again',
  });
  expect(values(intake.db, 'SELECT alive_at_ms > 0 FROM metadata')).toEqual([1]);
});

test('lets healthz wait for the first heartbeat', async () => {
  const intake = await startIntake(false);
  const stamped = () => values(intake.db, 'SELECT alive_at_ms FROM metadata')[0];
  const early = intake.ask('GET', '/healthz');
  expect((await intake.post(delivery('a', item()))).status).toBe(204);
  expect(stamped()).toBeNull();
  intake.heartbeat.begin();
  expect(await early).toMatchObject({ status: 200 });
  expect(stamped()).toBeGreaterThan(0);
});

test('writes no heartbeat if the service ends before it has begun', async () => {
  const intake = await startIntake(false);
  const { status } = await intake.ask('GET', '/healthz');
  expect(status).toBe(503);
  await intake.heartbeat.stop();
  expect(values(intake.db, 'SELECT alive_at_ms FROM metadata')).toEqual([null]);
});
