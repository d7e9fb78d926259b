/** The change feed of a copy: a consumer that is ahead of it, or in a newer epoch, waits, and does not start over. */
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { newStore, type OpenedStore } from '../reconcile/mirror.ts';
import { delivery, item, T0 } from '../mirror/mirror-file.ts';
import { present } from '../shared/present.ts';
import { EventReader } from './events.ts';
import { startOps } from './harness.ts';

type Json = Record<string, unknown>;

const epochOf = (store: OpenedStore): string =>
  present(store.rows<{ epoch: string }>('SELECT epoch FROM mirror_status')[0]).epoch;

async function startCopyOps() {
  const store = newStore();
  store.changeLog(
    'CREATE TABLE event_log.copied_from (id INTEGER PRIMARY KEY, origin TEXT NOT NULL, cursor TEXT NOT NULL)',
  );
  let n = 0;
  const change = async (): Promise<void> => {
    n += 1;
    const body = delivery(`r${n}`, item({ old: 100 - n, new: 99 - n, update_time: T0 + n }));
    await store.writer.appendDelivery(body, T0 + n);
  };
  await change();
  await change();
  /** When it last had everything, on the monotonic clock; null: it is cut off. */
  const level: { atMs: (() => number) | null } = { atMs: null };
  const ops = await startOps(store, {
    alarms: {
      current: [],
      get own() {
        const atMs = level.atMs?.() ?? null;
        return {
          commits: { lastGoodAtMs: 0, lastError: null },
          stuck: null,
          behindSinceMs: null,
          clockAheadMs: null,
          growingSinceMs: null,
          turnedAwayAtMs: null,
          replication: {
            name: 'copy',
            origin: 'https://primary.example',
            receiver: null,
            replica: {
              left: 0,
              behind_ms: atMs === null ? null : performance.now() - atMs,
              is_up_to_date: true,
              trouble: null,
              trouble_ms: null,
            },
            lead: null,
            members: { receivers: [], replicas: [] },
          },
        };
      },
      condition: null,
      maxRps: null,
    },
  });
  const ask = async (query: string): Promise<{ status: number; body: Json }> => {
    const { status, json } = await ops.ask(`/api/changes?${query}`);
    return { status, body: json as Json };
  };
  return { store, ops, ask, change, level };
}

test('a number that the copy has not reached is answered with itself, and behind', async () => {
  const { store, ask, change } = await startCopyOps();
  const epoch = epochOf(store);
  const behind = { epoch, changes: [], next: 4, has_more: false, behind: true };
  expect(await ask(`after=4&epoch=${epoch}`)).toEqual({ status: 200, body: behind });
  const polled = ask(`after=4&epoch=${epoch}&wait_seconds=10`);
  for (let n = 0; n < 4; n += 1) await change();
  const { body } = await polled;
  expect(body).toMatchObject({ epoch, behind: false });
  expect((body['changes'] as Json[])[0]).toMatchObject({ seq: 5 });
  expect(await ask(`after=2&epoch=${epoch}&limit=1`)).toMatchObject({ body: { behind: false, next: 3 } });
});

test('without an epoch nothing says that the number is of this history', async () => {
  const { ask } = await startCopyOps();
  expect(await ask('after=4')).toMatchObject({ status: 410, body: { error: 'ahead', last_seq: 2 } });
});

test('an epoch that the copy may not have heard of yet is waited for; once it has everything, it is another', async () => {
  const { store, ask, level } = await startCopyOps();
  expect(await ask('after=1&epoch=abc')).toEqual({
    status: 200,
    body: { epoch: 'abc', changes: [], next: 1, has_more: false, behind: true },
  });
  // Having been level before the question says nothing.
  const beforeMs = performance.now();
  level.atMs = () => beforeMs;
  expect(await ask('after=1&epoch=abc')).toMatchObject({ status: 200, body: { behind: true } });
  level.atMs = () => performance.now();
  expect(await ask('after=1&epoch=abc')).toMatchObject({
    status: 409,
    body: { error: 'epoch_changed', epoch: epochOf(store), last_seq: 2 },
  });
});

test('an epoch that the copy has left is no riddle', async () => {
  const { store, ask } = await startCopyOps();
  store.changeLog(`UPDATE event_log.history SET epoch_before = 'abc'`);
  const startedMs = performance.now();
  expect(await ask('after=1&epoch=abc')).toMatchObject({ status: 409, body: { error: 'epoch_changed' } });
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

test('a stream ahead of the copy stays open, and begins when it has passed the number', async () => {
  const { store, ops, change } = await startCopyOps();
  const reader = new EventReader(`${ops.url}/api/changes/stream?after=4&epoch=${epochOf(store)}`);
  for (let n = 0; n < 4; n += 1) await change();
  await eventually(() => reader.seqs.length === 2, { what: 'the changes after it' });
  expect(reader.seqs).toEqual([5, 6]);
  reader.cut();
});
