/** An event log that is a copy: rows as they come, together with how far that is, and alike in every copy. */
import { expect, onTestFinished, test } from 'vitest';
import type { CopiedRow } from '../../src/event-log/copied-row.ts';
import { encodeEntry } from '../../src/event-log/entries.ts';
import { encodeEpoch } from '../../src/event-log/encode-epoch.ts';
import { EventLog, type CopyArgs } from '../../src/event-log/event-log.ts';
import { openLogForAppending } from '../../src/event-log/open-log.ts';
import { delivery, detail, item, newPath, readEntry, rows, T0, values } from '../mirror/mirror-file.ts';

function openLog(path = newPath()) {
  const db = openLogForAppending(path);
  onTestFinished(() => void db.close());
  return { db, log: new EventLog(db), path };
}

const bytes = (body: Uint8Array) => new Uint8Array(body);
const arrived = (id: string, seq: number | null = null): CopiedRow => ({
  seq,
  kind: 'delivery',
  atMs: T0,
  payload: bytes(delivery(id, item())),
  detail: null,
});
const entry = (seq: number | null = null): CopiedRow => ({
  ...encodeEntry({ kind: 'listed', atMs: T0, productIds: [], lookup: false }),
  seq,
});
const read = (qty: number): CopiedRow => ({
  ...encodeEntry(readEntry('10', detail('10', [{ id: '100', levels: { 1: qty } }]), { sentAtMs: T0, s0: 0 })),
  seq: null,
});
const pruned = (firstSeq: number): CopiedRow => ({
  ...encodeEntry({ kind: 'pruned', atMs: T0, beforeMs: T0, firstSeq, limit: 500 }),
  seq: null,
});
const epoch = (name: string, seq: number): CopiedRow => ({
  ...encodeEpoch({ kind: 'epoch', atMs: T0, givenOutSeq: 9, epoch: name, reachedFrom: { low: 0, high: 2 } }),
  seq,
});
const copyOf = (copied: readonly CopiedRow[], over: Partial<CopyArgs> = {}): CopyArgs => ({
  rows: copied,
  firstSeq: null,
  origin: 'memory',
  cursor: { at: copied.length },
  ...over,
});
const seqs = ({ db }: ReturnType<typeof openLog>) => values<number>(db, 'SELECT seq FROM log ORDER BY seq');

test('rows of a common order get the next places, and a body that is there already gets none', () => {
  const copy = openLog();
  expect(copy.log.copy(copyOf([arrived('a'), entry(), arrived('a'), arrived('b')]))).toEqual([
    { seq: 1, duplicate: false },
    { seq: 2, duplicate: false },
    { seq: 1, duplicate: true },
    { seq: 3, duplicate: false },
  ]);
  expect(seqs(copy)).toEqual([1, 2, 3]);
});

test('it remembers how far it has copied what, in the same transaction as the rows', () => {
  const { log, db, path } = openLog();
  log.copy(copyOf([arrived('a')], { cursor: { at: 1 } }));
  expect(() => log.copy(copyOf([arrived('b'), entry(9)], { cursor: { at: 2 } }))).toThrow(
    'does not come after',
  );
  db.close();
  const again = openLog(path);
  expect(again.log.history().copiedFrom).toEqual({ origin: 'memory', cursor: { at: 1 } });
  expect(seqs(again)).toEqual([1]);
  expect(again.log.copy(copyOf([arrived('b')], { cursor: { at: 2 } }))).toEqual([
    { seq: 2, duplicate: false },
  ]);
});

test.each([
  ['a hole', [entry(1), entry(3)]],
  ['a place that is taken', [entry(1), entry(1)]],
  ['an epoch below the end', [entry(1), entry(2), epoch('e', 2)]],
])('rows of another log with %s are refused, all of them', (_what, wrong) => {
  const copy = openLog();
  expect(() => copy.log.copy(copyOf(wrong))).toThrow('does not come after');
  expect([seqs(copy), copy.log.lastSeq]).toEqual([[], 0]);
});

test('an epoch is followed: its name, what it came after, and the places that it leaves out', () => {
  const copy = openLog();
  copy.log.copy(copyOf([arrived('a'), arrived('b')]));
  const before = copy.log.history().epoch;
  copy.log.beat(T0);
  expect(copy.log.copy(copyOf([epoch('next', 40), arrived('c')])).map(({ seq }) => seq)).toEqual([40, 41]);
  expect(copy.log.history()).toMatchObject({
    epoch: 'next',
    began: { seq: 40, epochBefore: before, reachedFrom: { low: 0, high: 2 } },
    file: null,
    aliveAtMs: null,
  });
});

test('a pruned entry takes the same rows, and with them the same bodies, out of every copy', () => {
  const copies = [openLog(), openLog()];
  const stream = [arrived('a'), arrived('b'), arrived('c'), pruned(3), arrived('a'), arrived('c')];
  copies[0]?.log.copy(copyOf(stream));
  for (const row of stream) copies[1]?.log.copy(copyOf([row]));
  for (const copy of copies) {
    expect(seqs(copy)).toEqual([3, 4, 5]);
    expect(copy.log.firstSeq).toBe(3);
  }
  expect(rows(copies[0]?.db ?? openLog().db, 'SELECT * FROM log')).toEqual(
    rows(copies[1]?.db ?? openLog().db, 'SELECT * FROM log'),
  );
});

test('in a copy pruning only says which would go, and none that is not applied', () => {
  const copy = openLog();
  copy.log.copy(copyOf([arrived('a'), arrived('b'), arrived('c')]));
  const bounds = { beforeMs: T0 + 1, belowSeq: 3, limit: 500 };
  expect(copy.log.prune(bounds)).toEqual({ deleted: 2, firstSeq: 3 });
  expect(copy.log.prune({ ...bounds, limit: 1 })).toEqual({ deleted: 1, firstSeq: 2 });
  expect(copy.log.prune({ ...bounds, beforeMs: T0 })).toEqual({ deleted: 0, firstSeq: 1 });
  expect(seqs(copy)).toEqual([1, 2, 3]);
});

test('what is gone where rows come from goes here, except the last', () => {
  const copy = openLog();
  copy.log.copy(copyOf([arrived('a', 1), arrived('b', 2), arrived('c', 3)], { firstSeq: 3 }));
  expect(seqs(copy)).toEqual([3]);
  copy.log.copy(copyOf([], { firstSeq: 9 }));
  expect(seqs(copy)).toEqual([3]);
});

test('a body that came a second time after the first was pruned there has its place here too', () => {
  const copy = openLog();
  copy.log.copy(copyOf([arrived('a', 1), arrived('b', 2)]));
  // Where it comes from, entry 1 was gone by then; here it goes with the same batch.
  expect(copy.log.copy(copyOf([arrived('a', 3), arrived('c', 4)], { firstSeq: 2 }))).toEqual([
    { seq: 3, duplicate: false },
    { seq: 4, duplicate: false },
  ]);
  expect(seqs(copy)).toEqual([2, 3, 4]);
  expect(copy.log.copy(copyOf([arrived('a')]))).toEqual([{ seq: 3, duplicate: true }]);
});

test('whether a detail is logged whole is decided alike in every copy', () => {
  const copies = [openLog(), openLog()];
  const stream = [read(5), read(5), read(4), read(5), pruned(3), read(5), pruned(7), read(5)];
  copies[0]?.log.copy(copyOf(stream));
  for (const row of stream) copies[1]?.log.copy(copyOf([row]));
  const [one, two] = copies.map(({ db }) => rows(db, 'SELECT * FROM log'));
  expect(one).toEqual(two);
  expect(rows(copies[0]?.db ?? openLog().db, 'SELECT * FROM details')).toEqual(
    rows(copies[1]?.db ?? openLog().db, 'SELECT * FROM details'),
  );
});

test('once it goes on by itself it is no copy, and logs each detail whole at first', () => {
  const { log, db } = openLog();
  log.copy(copyOf([read(5)]));
  const { epoch: epochBefore } = log.history();
  const begun = encodeEpoch({ kind: 'epoch', atMs: T0, givenOutSeq: 0, epoch: 'own' });
  log.endCopying({
    epoch: 'own',
    epochBefore,
    file: { inode: '1', bornAtMs: T0 },
    entry: begun,
    afterSeq: 1,
  });
  expect(log.history().copiedFrom).toBeNull();
  expect(values(db, 'SELECT count(*) FROM details')).toEqual([0]);
  const whole = encodeEntry(
    readEntry('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0, s0: 0 }),
  );
  log.append([{ kind: 'entry', entry: whole }]);
  const [first, second] = values<Buffer>(db, `SELECT payload FROM log WHERE kind = 'read' ORDER BY seq`);
  expect(second?.equals(first ?? Buffer.alloc(0))).toBe(true);
});
