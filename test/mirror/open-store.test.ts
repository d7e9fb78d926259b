/** The mirror behind its threads: who is told what, when, and when it ends. */
import { writeFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { eventually } from '../process/wait.ts';
import {
  delivery,
  detail,
  item,
  logAt,
  newPath,
  readEntry,
  readerDb,
  storeAt,
  T0,
  values,
  type OpenStore,
} from './mirror-file.ts';

const bodies = (count: number, from = 0): Uint8Array[] =>
  Array.from({ length: count }, (_, n) => delivery(`r${from + n}`, item({ id: String(from + n) })));

const allIsApplied = ({ writer }: OpenStore): Promise<true> =>
  eventually(() => writer.appliedSeq === writer.lastSeq, { what: 'all is applied' });

function programAt(path: string): Database.Database {
  const other = new Database(path, { timeout: 10_000 });
  onTestFinished(() => void other.close());
  return other;
}

test('what is appended is on disk and numbered in order; what is applied is told in order, once', async () => {
  const store = await storeAt();
  const { writer, path } = store;
  const db = readerDb(path);
  const found = db.prepare('SELECT 1 FROM log WHERE seq = ?').pluck();
  const told: number[] = [];
  const shown: unknown[] = [];
  writer.onApplied(({ appliedSeq }) => {
    told.push(appliedSeq);
    shown.push(values(db, 'SELECT applied_seq FROM mirror_state')[0]);
    expect(writer.lastSeq).toBeGreaterThanOrEqual(appliedSeq);
  });
  const seqs = await Promise.all(
    bodies(300).map(async (body) => {
      const { seq, duplicate } = await writer.appendDelivery(body, T0);
      expect(duplicate).toBe(false);
      expect(writer.lastSeq).toBeGreaterThanOrEqual(seq);
      expect(found.get(seq)).toBe(1);
      return seq;
    }),
  );
  expect(seqs).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  await allIsApplied(store);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  expect(told.at(-1)).toBe(300);
  // When it is told, it is there.
  for (const [i, seq] of told.entries()) expect(shown[i]).toBeGreaterThanOrEqual(seq);
  expect(values(db, 'SELECT count(*) FROM changes')).toEqual([300]);
});

test('an entry is told when it is applied, by its own place, and a command comes after what came before it', async () => {
  const { writer, path } = await storeAt();
  const db = readerDb(path);
  await Promise.all(
    bodies(40).flatMap((body, n) => [
      writer.appendDelivery(body, T0),
      writer
        .append(
          readEntry(`${n}`, detail(`${n}`, [{ id: `7${n}`, levels: { 1: n } }]), { sentAtMs: T0, s0: 0 }),
        )
        .then(({ seq }) => {
          expect(values(db, 'SELECT qty FROM stock_levels WHERE variant_id = ?', `7${n}`)).toEqual([n]);
          expect(values(db, 'SELECT kind FROM log WHERE seq = ?', seq)).toEqual(['read']);
        }),
    ]),
  );
  const later = writer.appendDelivery(delivery('later', item()), T0);
  const { seq } = await later;
  await writer.command('alive', { atMs: T0 });
  expect(values<number>(db, 'SELECT applied_seq FROM mirror_state')[0]).toBeGreaterThanOrEqual(seq);
});

test('facts are told with the entry that they came from', async () => {
  const { writer } = await storeAt();
  await writer.append(
    readEntry('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0, s0: 0 }),
  );
  const { facts } = await writer.append(
    readEntry('10', detail('10', [{ id: '100', levels: { 1: 5 } }], { store_id: '2' }), {
      sentAtMs: T0,
      s0: 1,
    }),
  );
  expect(facts).not.toEqual([]);
});

test('closing commits what waits, whoever closes how often, and the next start finds it', async () => {
  const path = newPath();
  const store = await storeAt(path);
  const waiting = bodies(200).map((body) => store.writer.appendDelivery(body, T0));
  await Promise.all([store.close(), store.close()]);
  expect((await Promise.all(waiting)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 200 }, (_, n) => n + 1),
  );
  await expect(store.writer.appendDelivery(delivery('late', item()), T0)).rejects.toMatchObject({
    kind: 'closed',
  });
  await expect(store.reader.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  expect(store.deaths).toEqual([]);
  const next = await storeAt(path);
  expect(next.writer.lastSeq).toBe(200);
  await allIsApplied(next);
  expect(values(readerDb(path), 'SELECT count(*) FROM changes')).toEqual([200]);
});

test.each(['BEGIN IMMEDIATE', 'BEGIN EXCLUSIVE'])(
  'while another program holds the mirror by %s deliveries are kept, and afterwards applied',
  async (hold) => {
    const store = await storeAt();
    const { writer, path } = store;
    const other = programAt(path);
    other.exec(hold);
    for (const body of bodies(200)) await writer.appendDelivery(body, T0);
    await writer.beat(T0);
    expect(writer.lastSeq).toBe(200);
    expect(writer.appliedSeq).toBe(0);
    await eventually(() => writer.stuck !== null, { what: 'it is known' });
    expect(writer.stuck).toMatchObject({ kind: 'busy' });
    // It comes after what came before it.
    const command = writer.command('alive', { atMs: T0 });
    other.exec('COMMIT');
    await command;
    await allIsApplied(store);
    expect(writer.stuck).toBeNull();
    expect(values(readerDb(path), 'SELECT count(*) FROM changes')).toEqual([200]);
  },
);

test('a mirror that is held already at the start keeps no delivery waiting, and is opened later', async () => {
  const path = newPath();
  await (await storeAt(path)).close();
  const other = programAt(path);
  other.pragma('locking_mode = EXCLUSIVE');
  other.exec('BEGIN EXCLUSIVE');
  const store = await logAt(path);
  let isOpen = false;
  void store.opened.then(() => (isOpen = true));
  const placed = await Promise.all(bodies(20).map((body) => store.writer.appendDelivery(body, T0)));
  expect(placed.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  expect(isOpen).toBe(false);
  other.exec('COMMIT');
  other.close();
  await store.opened;
  await allIsApplied(store);
  expect(values(readerDb(path), 'SELECT count(*) FROM changes')).toEqual([20]);
});

test('one that is closed while the mirror is held has everything, and the next start applies it', async () => {
  const path = newPath();
  await (await storeAt(path)).close();
  const other = programAt(path);
  other.exec('BEGIN EXCLUSIVE');
  const store = await logAt(path);
  await Promise.all(bodies(20).map((body) => store.writer.appendDelivery(body, T0)));
  await store.close();
  expect(store.deaths).toEqual([]);
  other.exec('ROLLBACK');
  const next = await storeAt(path);
  await allIsApplied(next);
  expect(values(readerDb(path), 'SELECT count(*) FROM changes')).toEqual([20]);
});

test.each<[string, string, (path: string) => unknown]>([
  ['a mirror that is in use', 'in_use', (path) => storeAt(path)],
  [
    'an event log that is another program’s',
    'not_a_database',
    (path: string) => {
      const db = new Database(eventLogPath(path));
      db.exec('CREATE TABLE theirs (x)');
      db.close();
    },
  ],
  [
    'an event log of a later version',
    'newer_schema',
    async (path: string) => {
      await (await storeAt(path)).close();
      const db = new Database(eventLogPath(path));
      db.pragma('user_version = 99');
      db.close();
    },
  ],
  [
    'an event log that is no database',
    'not_a_database',
    (path: string) => writeFileSync(eventLogPath(path), 'somebody’s notes\n'.repeat(100)),
  ],
  [
    'a mirror that is another program’s',
    'not_a_database',
    (path: string) => {
      const db = new Database(path);
      db.exec('CREATE TABLE theirs (x)');
      db.close();
    },
  ],
])('%s is refused by name, and nothing is left running', async (_name, kind, make) => {
  const path = newPath();
  await make(path);
  const refused: unknown = await logAt(path).catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind, message: expect.stringContaining(path.replace('.db', '')) });
});

test('the owner learns that the event log’s thread has died, and whoever waits for it too', async () => {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  const store = await storeAt();
  await eventually(() => workers.length === 3, { what: 'all threads are known' });
  const waiting = bodies(500).map((body) => store.writer.appendDelivery(body, T0));
  void workers[0]?.terminate();
  const settled = await Promise.allSettled(waiting);
  const rejected = settled.filter((outcome) => outcome.status === 'rejected');
  expect(rejected.length).toBeGreaterThan(0);
  for (const { reason } of rejected) expect(reason).toMatchObject({ kind: 'closed' });
  await eventually(() => store.deaths.length === 1, { what: 'the owner is told' });
  await expect(store.writer.beat(T0)).rejects.toMatchObject({ kind: 'closed' });
  await store.close();
});

test.each([1, 2])('a thread of the mirror that dies is started again with the other one', async (n) => {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  const store = await storeAt();
  await eventually(() => workers.length === 3, { what: 'all threads are known' });
  await workers[n]?.terminate();
  await eventually(() => store.writer.stuck !== null, { what: 'the death is known' });
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await eventually(() => store.writer.stuck === null, { what: 'the mirror is open again' });
  await store.writer.command('settle', undefined);
  expect(await store.reader.ask('status')).toMatchObject({ last_seq: 1 });
  expect(workers).toHaveLength(5);
  expect(store.deaths).toEqual([]);
});

test('a failing listener keeps nobody waiting', async () => {
  const { writer } = await storeAt();
  const uncaught: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => void uncaught.push(error));
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const stop = writer.onApplied(() => {
    throw new Error('a listener’s fault');
  });
  const appended = await Promise.all(
    bodies(20).flatMap((body, n) => [
      writer.appendDelivery(body, T0),
      writer.append({ kind: 'listed', atMs: T0, productIds: [`${n}`], lookup: false }),
    ]),
  );
  expect(appended).toHaveLength(40);
  stop();
  expect(uncaught.length).toBeGreaterThan(0);
});
