/** A database of the version before, which kept its event log in itself, goes on as if nothing were (docs/architecture.md#the-event-log). */
import { asOwnWrite } from '../../src/mirror/file/own-write.ts';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { openOwnLog } from '../../src/event-log/own-log.ts';
import { takeOverLog } from '../../src/event-log/take-over.ts';
import type { StoreNews } from '../../src/mirror/writer/upkeep.ts';
import { PROJECTED } from '../../src/mirror/file/projected.ts';
import { knownSchemaVersion } from '../../src/sqlite/migrate.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { run } from '../mirror/child.ts';
import { FORMER_NAMES, formerMirror } from '../mirror/former-mirror.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  readerDb,
  rows,
  storeAt,
  T0,
  values,
  writerDb,
} from '../mirror/mirror-file.ts';
import { applyAgain, dump } from '../mirror/replay.ts';

const tea = (qty: number) => detail('10', [{ id: '100', levels: { 1: qty, 2: 7 } }]);

/** A history with every kind of row, and its database in the former form. */
function former() {
  const writer = new DirectWriter();
  writer.read('10', tea(5), T0);
  writer.read('11', detail('11', [{ id: '110', levels: { 1: 3 } }]), T0 + 100);
  writer.read('10', tea(5), T0 + 3_000);
  for (let n = 0; n < 20; n += 1) {
    writer.deliver(
      delivery(`r${n}`, item({ old: 5 - n, new: 4 - n, update_time: T0 + 4_000 + n }), item({ id: `9${n}` })),
      T0 + 4_000 + n,
    );
  }
  // A chain that breaks, a body that nobody can read, a request, a run, a failure.
  writer.deliver(delivery('gap', item({ id: '110', old: 9, new: 8, update_time: T0 + 6_000 })), T0 + 6_000);
  writer.deliver(new TextEncoder().encode('}{'), T0 + 6_100);
  writer.append({ kind: 'listed', atMs: T0 + 7_000, productIds: ['10', '13'], lookup: false });
  const failure = { productId: '12', attempts: 1, faults: 1, nextAtMs: T0, parked: true, error: 'refused' };
  writer.commit({ kind: 'command', name: 'failRead', args: { ...failure, atMs: T0 } });
  asOwnWrite(writer.db, () =>
    writer.db
      .exec(`INSERT INTO runs (kind, state, started_at_ms, read_after_ms, list_offset, list_done, started_seq, total, done, drift, failed)
      VALUES ('operator', 'running', ${T0}, ${T0}, 0, 0, 1, 2, 0, 0, 0)`),
  );
  const path = formerMirror(writer);
  const db = new Database(path, { readonly: true });
  const was = contentOf(db, 'log', 'former');
  db.close();
  return { path, was, writer };
}

const BESIDE = ['runs', 'read_failures', 'live_counts', 'product_stock_levels'];

/** Everything that must be kept. */
function contentOf(db: Db, log: string, names: 'former' | 'present' = 'present') {
  const namedIn = (from: string) =>
    names === 'present' ? from : from.replace(/^\w+/, (name) => FORMER_NAMES.get(name) ?? name);
  const table = (from: string) =>
    rows(db, `SELECT * FROM ${namedIn(from)}`).map(({ applied_seq: _appliedSeq, ...row }) => row);
  return {
    log: rows(
      db,
      `SELECT seq, kind, at_ms, hex(body_hash) AS hash, hex(payload) AS payload FROM ${log} ORDER BY seq`,
    ),
    tables: [...PROJECTED, ...BESIDE].map((from) => ({ from, found: table(from) })),
    status: rows(
      db,
      'SELECT epoch, last_seq, last_delivery_at, last_full_sync_at, pending_reads FROM mirror_status',
    ),
  };
}

/** Starts the mirror, and checks that all of it is there. @param deliveries came before the mirror was migrated. */
async function expectTakenOver(
  path: string,
  was: ReturnType<typeof contentOf>,
  deliveries = 0,
): Promise<void> {
  const news: StoreNews[] = [];
  const store = await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(news).toEqual([]);
  const { writer } = store;
  const last = was.log.length;
  expect(writer.lastSeq).toBe(last + deliveries);
  await eventually(() => writer.appliedSeq === writer.lastSeq, { what: 'all is applied' });
  const db = readerDb(path);
  if (deliveries === 0) {
    expect(contentOf(db, 'log')).toEqual(was);
    expect(store.life).toEqual({ aliveAtMs: T0 + 5, lastAtMs: T0 + 7_000 });
  } else expect(contentOf(db, 'log').log.slice(0, last)).toEqual(was.log);
  expect(values(db, `SELECT name FROM main.sqlite_master WHERE name = 'log'`)).toEqual([]);
  expect(values(db, 'SELECT schema_version FROM mirror_status')).toEqual([knownSchemaVersion()]);
  expect(values(db, 'SELECT applied_seq FROM mirror_state')).toEqual([last + deliveries]);
  expect(existsSync(`${eventLogPath(path)}.draft`)).toBe(false);
  // A body of then is known, and places go on.
  const body = delivery('r0', item({ old: 5, new: 4, update_time: T0 + 4_000 }), item({ id: '90' }));
  expect(await writer.appendDelivery(body, T0)).toEqual({ seq: 4, duplicate: true });
  expect(await writer.appendDelivery(delivery('new', item()), T0 + 9_000)).toEqual({
    seq: last + deliveries + 1,
    duplicate: false,
  });
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  await store.close();
  const again = await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(again.writer.lastSeq).toBe(last + deliveries + 1);
  expect(news).toEqual([]);
}

test('every entry, request, run and number is kept, and the mirror made anew of it is equal', async () => {
  const { path, was, writer } = former();
  expect(was.log.length).toBe(26);
  for (const { from, found } of was.tables) expect(found, from).not.toEqual([]);
  await expectTakenOver(path, was);
  const taken = readerDb(path);
  const again = applyAgain(taken, writerDb());
  expect(dump(again)).toBe(dump(taken));
  expect(values(again, 'SELECT count(*) FROM changes')[0]).toBeGreaterThan(
    present(values<number>(writer.db, 'SELECT count(*) FROM changes')[0]) - 1,
  );
});

test.each<[string, (path: string) => void | Promise<void>]>([
  [
    'a draft is left, cut short',
    (path) => {
      writeFileSync(`${eventLogPath(path)}.draft`, 'SQLite format 3\0 and no more');
      writeFileSync(`${eventLogPath(path)}.draft-journal`, 'of another');
    },
  ],
  ...[1, 2, 3].map((at): [string, (path: string) => Promise<void>] => [
    `killed before its statement ${at}`,
    async (path) => {
      const child = run('die-in-take-over.ts', path, String(at));
      await expect(child.nextLine()).rejects.toThrow('ended before');
      expect(existsSync(`${eventLogPath(path)}.draft`)).toBe(true);
      expect(existsSync(eventLogPath(path))).toBe(false);
    },
  ]),
  [
    'the event log is in its place, and the mirror not migrated',
    (path) => takeOverLog(path, eventLogPath(path)),
  ],
  [
    'the event log was in its place, and is deleted before the mirror is migrated',
    (path) => {
      takeOverLog(path, eventLogPath(path));
      rmSync(eventLogPath(path));
    },
  ],
])('interrupted, it happens whole with the next start: %s', async (_name, happen) => {
  const { path, was } = former();
  await happen(path);
  await expectTakenOver(path, was);
});

test('what comes before the mirror is migrated is applied behind what was taken over', async () => {
  const { path, was } = former();
  const own = openOwnLog(path);
  expect(own.news).toEqual([]);
  own.log.append([
    { kind: 'delivery', body: delivery('early', item({ id: '777' })), arrivedAtMs: T0 + 8_000 },
  ]);
  own.db.close();
  own.release();
  await expectTakenOver(path, was, 1);
  expect(values(readerDb(path), `SELECT qty FROM stock_levels WHERE variant_id = '777'`)).toEqual([4]);
});

test('where it cannot be made the start is refused, and leaves the database as it was', async () => {
  const { path, was } = former();
  const log = eventLogPath(path);
  mkdirSync(`${log}.draft`);
  expect(() => openOwnLog(path)).toThrow();
  expect(existsSync(log)).toBe(false);
  rmSync(`${log}.draft`, { recursive: true });
  await expectTakenOver(path, was);
});

test('an older copy of the former database heals from the event log that was taken over from a later one', async () => {
  const { path, was } = former();
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  const store = await storeAt(path);
  await store.writer.appendDelivery(delivery('later', item({ id: '778' })), T0 + 9_000);
  await store.close();
  copyFileSync(copy, path);
  const news: StoreNews[] = [];
  const healed = await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(news).toEqual([]);
  await eventually(() => healed.writer.appliedSeq === was.log.length + 1, { what: 'it has healed' });
  expect(values(readerDb(path), `SELECT qty FROM stock_levels WHERE variant_id = '778'`)).toEqual([4]);
});

test('one that is older than its high-water mark begins a new epoch', async () => {
  const { path, was } = former();
  const position = { epoch: String(present(was.status[0])['epoch']), changeSeq: 10_000, logSeq: 5_000 };
  const file = { inode: '1', bornAtMs: 1 };
  writeFileSync(`${path}.mark`, JSON.stringify({ version: 1, ...position, file }));
  const news: StoreNews[] = [];
  const store = await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(news).toMatchObject([{ type: 'new_epoch', epochBefore: position.epoch }]);
  expect(store.writer.lastSeq).toBe(5_001);
  await eventually(() => store.writer.appliedSeq === 5_001, { what: 'it is applied' });
  expect(values<number>(readerDb(path), 'SELECT last_seq FROM mirror_status')[0]).toBeGreaterThan(10_000);
});

test('a read of the former form, whose detail was left out, is applied', () => {
  const { path } = former();
  takeOverLog(path, eventLogPath(path));
  const log = new Database(eventLogPath(path), { readonly: true });
  const leftOut = `SELECT count(*) FROM log WHERE CAST(payload AS TEXT) LIKE '%"detail":"unchanged"%'`;
  expect(values(log, leftOut)).toEqual([1]);
  const again = applyAgain(log, writerDb());
  expect(rows(again, `SELECT product_id, read_seq FROM products WHERE product_id = '10'`)).toEqual([
    { product_id: '10', read_seq: expect.any(Number) },
  ]);
  log.close();
});
