/** When deliveries cannot be stored, or may have been missed (docs/architecture.md#what-may-have-been-missed). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { eventually } from '../process/wait.ts';
import { inboxPath, readReceiver } from '../../src/inbox/inbox-file.ts';
import type { ReceiverReport } from '../../src/inbox/report.ts';
import type { HostTime } from '../../src/platform/host-time.ts';
import { signBody, TEST_HEADER } from '../../src/store-api/signature.ts';
import { delivery, item, rows } from '../mirror/mirror-file.ts';
import { lockInbox, SECRET, startReceiver, type StartedReceiver } from './harness.ts';

const HEARTBEAT_MS = 1_000;

const whys = ({ missed }: StartedReceiver): string[] => missed().map(({ why }) => why);

test('answers 503 when the inbox cannot commit, and notes the variants before the next delivery', async () => {
  const receiver = await startReceiver();
  const lock = lockInbox(receiver);
  const answers = await Promise.all([
    receiver.post(delivery('a', item())),
    receiver.post(delivery('b', item({ id: '999' }), item({ id: 7 }))),
    receiver.post(delivery('c', item({ new: 1 }))),
  ]);
  for (const { status, body } of answers) {
    expect(status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ error: 'unavailable' });
  }
  expect(receiver.troubles).toContainEqual(expect.objectContaining({ kind: 'busy' }));
  const lines = receiver.log.filter((line) => JSON.stringify(line).includes('is locked by another program'));
  expect(lines).toHaveLength(1);
  lock.release();
  expect((await receiver.post(delivery('d', item({ old: 4, new: 3 })))).status).toBe(204);
  const [{ why, variantIds } = { why: null, variantIds: null }] = receiver
    .missed()
    .filter((row) => row.why === 'not_stored');
  expect([why, variantIds?.toSorted()]).toEqual(['not_stored', ['100', '7', '999']]);
  expect(rows(receiver.db, 'SELECT kind FROM inbox ORDER BY seq').at(-1)).toEqual({ kind: 'delivery' });
  expect(receiver.troubles.at(-1)).toBeNull();
});

test('reports the slowest answer until a heartbeat with it is on disk', async () => {
  const { post, inbox } = await startReceiver();
  const append = inbox.append.bind(inbox);
  const failed: (number | null)[] = [];
  const written: (number | null)[] = [];
  let isBroken = true;
  vi.spyOn(inbox, 'append').mockImplementation((rows) => {
    if (rows.heartbeat !== null) {
      const { slowestMs } = JSON.parse(rows.heartbeat.reportJson ?? '') as ReceiverReport;
      (isBroken ? failed : written).push(slowestMs);
    }
    if (isBroken) throw new Error('disk I/O error');
    append(rows);
  });
  expect((await post(delivery('a', item()))).status).toBe(503);
  const tries = failed.length;
  await eventually(() => failed.length >= tries + 2, { what: 'two heartbeats that fail' });
  isBroken = false;
  await eventually(() => written.length >= 2, { what: 'two heartbeats' });
  const slowestMs = failed.at(-1) ?? 0;
  expect(slowestMs).toBeGreaterThan(0);
  expect(failed.slice(tries).every((each) => each === slowestMs)).toBe(true);
  expect(written.slice(0, 2)).toEqual([slowestMs, null]);
});

test('a body that names no variant and was not stored may be about anything', async () => {
  const receiver = await startReceiver();
  const lock = lockInbox(receiver);
  expect((await receiver.post(new TextEncoder().encode('no JSON'))).status).toBe(503);
  lock.release();
  await eventually(() => whys(receiver).includes('not_stored'), { what: 'the row is written' });
  expect(receiver.missed().at(-1)).toMatchObject({ variantIds: null });
});

test('the bodies of one turn of the event loop and a heartbeat become one commit', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const commits: { readonly deliveries: number; readonly hasHeartbeat: boolean }[] = [];
  const { receiver } = await startReceiver({
    beforeCommit: ({ arrivals, heartbeat }) =>
      commits.push({ deliveries: arrivals.length, hasHeartbeat: heartbeat !== null }),
  });
  commits.length = 0;
  vi.advanceTimersByTime(HEARTBEAT_MS);
  const rows = Array.from(
    { length: 90 },
    (_, n) => ({ kind: 'delivery', body: delivery(`r${n}`, item()) }) as const,
  );
  await Promise.all(rows.map((row) => receiver.append([row], null)));
  // A second sync would delay the answers: a disk that needs 250 ms for each leaves no room for more than two.
  expect(commits).toEqual([{ deliveries: 90, hasHeartbeat: true }]);
});

test('while it cannot commit, it writes no heartbeat, so that the next start knows', async () => {
  const first = await startReceiver({ passed: { inode: 5, wasQueueFull: false } });
  const lock = lockInbox(first);
  expect((await first.post(delivery('a', item()))).status).toBe(503);
  await first.stop();
  lock.release();
  const second = await startReceiver({ path: first.path, passed: { inode: 5, wasQueueFull: false } });
  expect(whys(second)).toEqual(['first_start', 'killed']);
});

/** Its monotonic clock stands still: the machine was suspended whenever another clock moves. */
const hostAt = (at: { readonly wallMs: number; readonly sinceBootMs: number }): HostTime => ({
  wallMs: () => at.wallMs,
  sinceBootMs: () => at.sinceBootMs,
  monotonicMs: () => 0,
  bootId: 'boot',
});

test('a machine that stood still writes it down before the next delivery', async () => {
  const at = { wallMs: Date.now(), sinceBootMs: 1_000_000 };
  const host = hostAt(at);
  const receiver = await startReceiver({ host });
  expect((await receiver.post(delivery('proof', item()))).status).toBe(204);
  at.wallMs += 9_000;
  at.sinceBootMs += 9_000;
  expect((await receiver.post(delivery('a', item()))).status).toBe(204);
  expect(rows(receiver.db, 'SELECT kind FROM inbox ORDER BY seq DESC LIMIT 2')).toEqual([
    { kind: 'delivery' },
    { kind: 'missed' },
  ]);
  expect(receiver.missed().at(-1)).toMatchObject({ why: 'stood_still' });
});

test('a body that was cut off is counted', async () => {
  const receiver = await startReceiver();
  const socket = connect({ port: receiver.port, host: '127.0.0.1' });
  const signature = signBody(SECRET, Buffer.from('half'));
  socket.write(
    `POST /webhooks HTTP/1.1\r\nHost: x\r\nX-Service-Signature: ${signature}\r\nContent-Length: 9\r\n\r\nhalf`,
  );
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.destroy();
  await eventually(() => receiver.report().refused.some(({ reason }) => reason === 'cut_off'), {
    what: 'it is counted',
  });
});

test('reports in healthz whether a delivery could be committed now', async () => {
  const receiver = await startReceiver();
  expect(await receiver.ask('GET', '/healthz')).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  const lock = lockInbox(receiver);
  const asked = await eventually(
    async () => {
      const answer = await receiver.ask('GET', '/healthz');
      return answer.status === 503 && answer;
    },
    { what: 'the trouble shows' },
  );
  expect(JSON.parse(asked.body)).toMatchObject({ error: 'unavailable' });
  lock.release();
  await eventually(async () => (await receiver.ask('GET', '/healthz')).status === 200, {
    what: 'it is well again',
  });
  // A balancer may have refused webhooks until the commits succeeded, and then until it asked again.
  const aboutAnything = (): number =>
    receiver.missed().filter(({ why, variantIds }) => why === 'not_stored' && variantIds === null).length;
  await eventually(() => aboutAnything() >= 2, { what: 'both rows are written' });
});

test('notes nothing as missed if only doctor was told of the trouble', async () => {
  const receiver = await startReceiver();
  const asDoctor = async (): Promise<number> =>
    (await receiver.ask('GET', '/healthz', { [TEST_HEADER]: '1' })).status;
  const lock = lockInbox(receiver);
  await eventually(async () => (await asDoctor()) === 503, { what: 'the trouble shows' });
  lock.release();
  await eventually(async () => (await asDoctor()) === 200, { what: 'it is well again' });
  expect((await receiver.ask('GET', '/healthz')).status).toBe(200);
  await receiver.stop();
  expect(whys(receiver)).not.toContain('not_stored');
});

test('ends when its files are gone, because later commits would be lost', async () => {
  const receiver = await startReceiver();
  rmSync(inboxPath(receiver.path));
  await eventually(() => receiver.deaths.length > 0, { what: 'the death is reported' });
  expect(receiver.deaths[0]?.message).toContain('was deleted, moved or replaced by another program');
});

test('keeps its clock across restarts', async () => {
  const at = { wallMs: Date.now(), sinceBootMs: 1_000_000 };
  const host = hostAt(at);
  const first = await startReceiver({ host });
  const { path } = first;
  const reachedMs = first.receiver.now();
  await first.stop();
  at.wallMs -= 30_000;
  const second = await startReceiver({ path, host });
  expect(second.receiver.now()).toBeGreaterThanOrEqual(reachedMs);
  expect(readReceiver(second.db)).toMatchObject({ bootId: 'boot', sinceBootMs: 1_000_000 });
});
