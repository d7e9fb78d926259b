/** The checker of `npm run crash` sees each kind of loss and damage. */
import { openSync, closeSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Audit, type AuditOptions } from '../../../scripts/crash/audit.ts';
import { age, attachLog, copyDatabase } from '../../../scripts/crash/files.ts';
import { Reference } from '../../../scripts/crash/reference.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { delivery, detail, DirectWriter, item, newPath, T0, writerDb } from '../../mirror/mirror-file.ts';

const bodies = Array.from({ length: 6 }, (_, n) =>
  delivery(`r${n}`, item({ id: String(100 + (n % 2)), old: 5 - n, new: 4 - n, update_time: T0 + n })),
);
const answered = bodies.map((body, n) => ({ requestId: `r${n}`, body, items: [0] }));

interface Scene {
  readonly writer: DirectWriter;
  readonly db: Db;
  readonly audit: Audit;
  readonly check: (over?: Partial<AuditOptions>) => string[];
}

/** A mirror with reads, deliveries, a re-read request and a run, all of it found in order so far. */
function scene(path = newPath()): Scene {
  const writer = new DirectWriter(writerDb(path));
  const reference = new Reference(join(dirname(path), 'reference.db'));
  onTestFinished(() => reference.close());
  const audit = new Audit(reference);
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
  for (const [n, body] of bodies.entries()) writer.deliver(body, T0 + n);
  writer.append({ kind: 'oblige', atMs: T0 + 50, reason: 'operator', productIds: ['10'], variantIds: [] });
  writer.beginRun({ run: 'operator', total: 1 });
  const check = (over: Partial<AuditOptions> = {}): string[] =>
    audit.check(writer.db, {
      integrity: true,
      answered: [],
      runIds: [1],
      aged: { logSeq: 0, changeSeq: 0 },
      ...over,
    });
  return { writer, db: writer.db, audit, check };
}

test('a mirror that kept everything passes, also when it has grown since, and repeats count as found', () => {
  const { writer, check, audit } = scene();
  expect(check({ answered: [...answered, ...answered.slice(0, 2)] })).toEqual([]);
  expect(audit.found).toBe(8);
  const more = delivery('more', item({ id: '100', old: 0, new: 9, update_time: T0 + 99 }));
  writer.deliver(more, T0 + 99);
  expect(check({ answered: [{ requestId: 'more', body: more, items: [0] }] })).toEqual([]);
});

test('an answered delivery that is not in the log is named, the last one as well as one in the middle', () => {
  const last = scene();
  last.db.exec('DELETE FROM log WHERE seq >= 7');
  expect(last.check().join()).toContain('the mirror has applied entry 9, the log ends at 6');
  expect(last.check({ answered }).join()).toContain('delivery r5 was answered 204 and is not in the log');
  const middle = scene();
  middle.db.exec('DELETE FROM log WHERE seq = 4');
  expect(middle.check({ answered }).join()).toMatch(
    /the log has 8 rows from 1 to 9.*delivery r2 was answered/s,
  );
});

test('a log that is shorter than it was, or goes on elsewhere, is seen', () => {
  const shorter = scene();
  shorter.check();
  shorter.db.exec('DELETE FROM log WHERE seq = 9');
  expect(shorter.check().join()).toContain('the log ends at 8 and had ended at 9');
  const elsewhere = scene();
  elsewhere.check();
  elsewhere.db.exec(`INSERT INTO log SELECT 11, kind, at_ms, NULL, payload FROM log WHERE seq = 8`);
  expect(elsewhere.check().join()).toContain('the log goes on at 11 after 9');
});

test('an entry of the log that is not what it was is seen when all is read', () => {
  const { db, check } = scene();
  expect(check()).toEqual([]);
  db.exec(`UPDATE log SET payload = x'7b7d' WHERE seq = 3`);
  expect(check({ integrity: false })).toEqual([]);
  expect(check().join()).toMatch(/^log: 1 rows are not what the log says/);
});

test.each([
  ['a level', 'UPDATE stock_levels SET qty = qty + 1', 'stock_levels'],
  ['a lost re-read request', 'DELETE FROM read_requests', 'read_requests'],
  ['a row of the feed', 'DELETE FROM changes WHERE seq = (SELECT max(seq) FROM changes)', 'changes'],
  ['the numbering', 'UPDATE mirror_state SET change_seq = change_seq - 1', 'mirror_state'],
  ['a gap', 'DELETE FROM gaps', 'gaps'],
])('a table that its log does not give is seen: %s', (_name, tamper, table) => {
  const { db, check } = scene();
  db.exec(tamper);
  expect(check().join()).toContain(table);
});

test('a row of the feed that goes missing later is seen, unless it is old enough to be pruned', () => {
  const { db, check } = scene();
  expect(check()).toEqual([]);
  db.exec('DELETE FROM changes WHERE seq = 1; DELETE FROM log WHERE seq = 1');
  expect(check().join()).toMatch(/the log begins at 2.*1 rows of the change feed are gone/s);
  expect(check({ aged: { logSeq: 2, changeSeq: 2 } })).toEqual([]);
});

test('a promised run that is gone, one that runs again, a new epoch and a stamp that fell are seen', () => {
  const { db, check } = scene();
  db.exec(`UPDATE history SET alive_at_ms = ${T0}; UPDATE runs SET state = 'done'`);
  expect(check()).toEqual([]);
  db.exec(`UPDATE service_state SET epoch = 'other'; UPDATE history SET alive_at_ms = 1`);
  db.exec(`UPDATE runs SET state = 'running'`);
  expect(check({ runIds: [1, 2] })).toEqual([
    'the epoch has changed',
    'mirror and event log are of different epochs',
    'alive_at has fallen',
    'run 2 was promised and is not there',
    'run 1 had ended and runs again',
  ]);
});

test('entries that a kill left without being applied are no fault, and are held against the mirror once it has applied them', () => {
  const { writer, db, audit, check } = scene();
  expect(check()).toEqual([]);
  const bodies = [7, 8, 9].map((n) =>
    delivery(`late${n}`, item({ id: '100', old: 0, new: n, update_time: T0 + n })),
  );
  const inputs = bodies.map((body) => ({ kind: 'delivery', body, arrivedAtMs: T0 + 60 }) as const);
  writer.writer.log.append(inputs);
  const late = bodies.map((body, n) => ({ requestId: `late${n}`, body, items: [0] }));
  expect(check({ answered: late })).toEqual([]);
  expect(audit.mostBehind).toBe(3);
  writer.writer.projection.step([], writer.writer.lastSeq - 1);
  expect(check()).toEqual([]);
  writer.writer.projection.step([]);
  expect(check()).toEqual([]);
  db.exec('UPDATE mirror_state SET applied_seq = applied_seq - 1');
  expect(check().join()).toContain('the mirror had applied entry 12 and holds 11 only');
});

test('a half made schema and a damaged page are seen', () => {
  const { db, check } = scene();
  db.exec('DELETE FROM __drizzle_migrations');
  expect(check().join()).toContain('the schema is half made');

  const path = newPath();
  const whole = scene(path);
  whole.db.pragma('wal_checkpoint(TRUNCATE)');
  const copy = path.replace('mirror.db', 'copy.db');
  copyDatabase(path, copy);
  const page = whole.db
    .prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'stock_levels'`)
    .pluck()
    .get() as number;
  const file = openSync(copy, 'r+');
  writeSync(file, Buffer.alloc(4_000, 0x5a), 0, 4_000, (page - 1) * 4_096);
  closeSync(file);
  const damaged = new Database(copy);
  attachLog(damaged, copy);
  onTestFinished(() => void damaged.close());
  expect(
    whole.audit
      .check(damaged, { integrity: true, answered: [], runIds: [], aged: { logSeq: 0, changeSeq: 0 } })
      .join(),
  ).toContain('integrity_check');
});

test('a folder without a database has nothing to copy, and little has aged in a short life', () => {
  const path = newPath();
  expect(copyDatabase(path, `${path}.copy`)).toBe(false);
  const { db } = scene(path);
  expect(age(path, 60)).toEqual({ logSeq: 0, changeSeq: 0 });
  expect(db.prepare('SELECT min(at_ms) FROM log').pluck().get()).toBeGreaterThan(T0 - 61_000);
});
