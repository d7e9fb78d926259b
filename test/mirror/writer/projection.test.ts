/** What is in the event log is in the tables once, in order, whatever fails on the way (docs/architecture.md#the-event-log). */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Input } from '../direct-writer.ts';
import { encodeEntry } from '../../../src/event-log/entries.ts';
import { LogReader } from '../../../src/event-log/read-log.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { Projection } from '../../../src/mirror/writer/projection.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  readEntry,
  rows,
  T0,
  values,
  writerDb,
} from '../mirror-file.ts';
import { applyAgain, dump } from '../replay.ts';

const arrived = (body: Uint8Array): Input => ({ kind: 'delivery', body, arrivedAtMs: T0 });
const tea = detail('10', [{ id: '100', levels: { 1: 5 } }]);

function failOn(db: Db, variantId: string, ...tables: readonly ('stock_levels' | 'variants')[]): void {
  for (const table of tables) {
    db.exec(`CREATE TRIGGER broken_${table} BEFORE INSERT ON ${table} WHEN NEW.variant_id = '${variantId}'
             BEGIN SELECT RAISE(ABORT, 'a fault of the program'); END`);
  }
}

/** Entries that wait to be applied. */
function logged(writer: DirectWriter, ...bodies: readonly Uint8Array[]): void {
  writer.writer.log.append(bodies.map((body) => ({ kind: 'delivery', body, arrivedAtMs: T0 })));
}

const appliedSeq = (db: Db): unknown => values(db, 'SELECT applied_seq FROM mirror_state')[0];

test('an entry that breaks the rules is passed over: its neighbours are applied, and nothing is lost', () => {
  const writer = new DirectWriter();
  failOn(writer.db, '666', 'stock_levels');
  const broken = detail('66', [{ id: '666', levels: { 1: 1 } }]);
  const results = writer.commit(
    arrived(delivery('a', item({ id: '101' }))),
    { kind: 'entry', entry: readEntry('66', broken, { sentAtMs: T0, s0: 0 }) },
    arrived(delivery('b', item({ id: '102' }))),
    arrived(delivery('c', item({ id: '103' }))),
  );
  expect(results.map((result) => result.ok)).toEqual([true, false, true, true]);
  expect(results[1]).toMatchObject({
    error: { kind: 'cannot_commit', message: expect.stringContaining('a fault') },
  });
  expect(values(writer.db, 'SELECT variant_id FROM stock_levels ORDER BY 1')).toEqual(['101', '102', '103']);
  expect(appliedSeq(writer.db)).toBe(4);
  // It stays in the event log, for a program without the fault.
  const healed = applyAgain(writer.db, writerDb());
  expect(values(healed, 'SELECT variant_id FROM stock_levels ORDER BY 1')).toContain('666');
});

test('a delivery that cannot be merged is kept, told, and every variant it names is read instead', () => {
  const writer = new DirectWriter();
  writer.read('10', tea, T0 - 60_000);
  failOn(writer.db, '666', 'stock_levels');
  const body = delivery('a', item(), item({ id: '666' }), item({ id: '7', old: 'x' }));
  const appended = writer.deliver(body);
  expect(appended).toMatchObject({ seq: 2, duplicate: false });
  expect(appended.facts).toContainEqual({
    kind: 'quarantined',
    variantId: null,
    problem: 'not merged: a fault of the program',
  });
  expect(rows(writer.db, 'SELECT log_seq, variant_id FROM dead_letters ORDER BY variant_id')).toEqual([
    { log_seq: 2, variant_id: '100' },
    { log_seq: 2, variant_id: '666' },
    { log_seq: 2, variant_id: '7' },
  ]);
  expect(rows(writer.db, 'SELECT product_id, reason, is_suspect FROM read_requests')).toEqual([
    { product_id: '10', reason: 'quarantine', is_suspect: 1 },
  ]);
  expect(
    values(writer.db, 'SELECT variant_id FROM variants WHERE lookup_at_ms IS NOT NULL ORDER BY 1'),
  ).toEqual(['666', '7']);
  expect(writer.deliver(body)).toEqual({ seq: 2, duplicate: true, facts: [] });
});

test('where not even that can be written it may have been about anything, and what follows is applied', () => {
  const writer = new DirectWriter();
  writer.read('10', tea, T0 - 60_000);
  failOn(writer.db, '666', 'stock_levels', 'variants');
  const { facts } = writer.deliver(delivery('a', item({ id: '666' })));
  expect(rows(writer.db, 'SELECT log_seq, variant_id FROM dead_letters')).toEqual([
    { log_seq: 2, variant_id: null },
  ]);
  expect(facts).toContainEqual({ kind: 'loss_suspected' });
  expect(writer.deliver(delivery('b', item()))).toMatchObject({ seq: 3 });
  expect(appliedSeq(writer.db)).toBe(3);
});

test('an entry that nobody can read is passed over', () => {
  const writer = new DirectWriter();
  const payload = new TextEncoder().encode('}{');
  writer.writer.log.append([{ kind: 'entry', entry: { kind: 'listed', atMs: T0, payload, detail: null } }]);
  const { reports } = writer.writer.projection.step([]);
  expect(reports).toMatchObject([{ seq: 1, failed: expect.stringContaining('JSON') }]);
  expect(writer.deliver(delivery('b', item()))).toMatchObject({ seq: 2 });
});

test('a command that fails costs the others and the entries nothing', () => {
  const writer = new DirectWriter();
  const alive = { kind: 'command', name: 'alive', args: { atMs: T0 } } as const;
  const results = writer.commit(
    { kind: 'command', name: 'failRead', args: null },
    arrived(delivery('a', item())),
    alive,
  );
  expect(results.map(({ ok }) => ok)).toEqual([false, true, true]);
  expect(appliedSeq(writer.db)).toBe(1);
  expect(values(writer.db, 'SELECT alive_at_ms FROM service_state')).toEqual([T0]);
});

test.each([
  ['leaves the transaction open', [] as string[]],
  ['has rolled it back already', ['ROLLBACK']],
  ['is there all the same', ['COMMIT']],
])('a COMMIT that fails and %s: every entry is applied once, by whoever goes on', (_name, instead) => {
  for (const isAnother of [false, true]) {
    const writer = new DirectWriter();
    writer.read('10', tea, T0 - 60_000);
    logged(writer, delivery('a', item()), delivery('b', item({ id: '101' })));
    const exec = writer.db.exec.bind(writer.db);
    const failing = vi.spyOn(writer.db, 'exec').mockImplementation((sql) => {
      if (sql !== 'COMMIT') return exec(sql);
      for (const other of instead) exec(other);
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
    });
    const { projection } = writer.writer;
    expect(() => projection.step([{ name: 'alive', args: { atMs: T0 } }])).toThrow(
      expect.objectContaining({
        kind: 'cannot_commit',
        message: expect.stringContaining('SQLITE_IOERR_FSYNC'),
      }),
    );
    // Tried once: alone each would fail as well.
    expect(failing.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1);
    failing.mockRestore();
    if (isAnother && writer.db.inTransaction) writer.db.exec('ROLLBACK');
    const goesOn = isAnother ? new Projection(writer.db, new LogReader(writer.db)) : projection;
    goesOn.step([]);
    expect(goesOn.appliedSeq).toBe(3);
    expect(appliedSeq(writer.db)).toBe(3);
    expect(rows(writer.db, 'SELECT log_seq, new_qty FROM changes ORDER BY seq')).toEqual([
      { log_seq: 1, new_qty: 5 },
      { log_seq: 2, new_qty: 4 },
      { log_seq: 3, new_qty: 4 },
    ]);
    expect(dump(applyAgain(writer.db, writerDb()))).toBe(dump(writer.db));
  }
});

test('entries are applied in their order, up to where it is said, however large the batches', () => {
  const writer = new DirectWriter();
  const bodies = Array.from({ length: 600 }, (_, n) =>
    delivery(`r${n}`, item({ old: 1_000 - n, new: 999 - n, update_time: T0 + n })),
  );
  logged(writer, ...bodies);
  const { projection } = writer.writer;
  expect(projection.step([], 7)).toMatchObject({ appliedSeq: 7, entries: 7 });
  expect(projection.step([], 7)).toMatchObject({ appliedSeq: 7, entries: 0 });
  while (projection.appliedSeq < 600) projection.step([]);
  expect(values(writer.db, 'SELECT log_seq FROM changes ORDER BY seq')).toEqual(bodies.map((_, n) => n + 1));
  expect(values(writer.db, 'SELECT qty FROM stock_levels')).toEqual([400]);
  expect(values(writer.db, 'SELECT count(*) FROM gaps')).toEqual([0]);
});

test('where an entry is missing nothing of the batch is applied', () => {
  const writer = new DirectWriter();
  logged(
    writer,
    delivery('a', item()),
    delivery('b', item({ id: '101' })),
    delivery('c', item({ id: '102' })),
  );
  writer.db.exec('DELETE FROM log WHERE seq = 2');
  const { projection } = writer.writer;
  expect(() => projection.step([])).toThrow(
    expect.objectContaining({
      kind: 'damaged',
      message: expect.stringContaining('entry 3 where 2 was expected'),
    }),
  );
  expect(appliedSeq(writer.db)).toBe(0);
  expect(values(writer.db, 'SELECT count(*) FROM stock_levels')).toEqual([0]);
});

test('a detail that is left out and is not the one at hand asks for it whole', () => {
  const writer = new DirectWriter();
  writer.read('10', tea, T0);
  writer.db.exec('UPDATE product_details SET detail_json = \'{"another":1}\'');
  const again = new Projection(writer.db, new LogReader(writer.db));
  const entry = encodeEntry(readEntry('10', tea, { sentAtMs: T0 + 9_000, s0: 1 }));
  writer.writer.log.append([{ kind: 'entry', entry }]);
  expect(again.step([]).reports).toMatchObject([{ seq: 2, detailLost: true }]);
  expect(rows(writer.db, 'SELECT product_id, reason FROM read_requests')).toEqual([
    { product_id: '10', reason: 'conflict' },
  ]);
});

test('while another program holds the write lock nothing is applied, and then all of it', () => {
  const path = newPath();
  const writer = new DirectWriter(writerDb(path));
  logged(writer, delivery('a', item()), delivery('b', item({ id: '101' })));
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const { projection } = writer.writer;
  expect(() => projection.step([])).toThrow(
    expect.objectContaining({ kind: 'busy', message: expect.stringContaining('another program holds') }),
  );
  expect(projection.appliedSeq).toBe(0);
  other.exec('COMMIT');
  expect(projection.step([])).toMatchObject({ appliedSeq: 2 });
});

test('on a full disk nothing is half written, and it goes on once there is room', () => {
  const writer = new DirectWriter();
  writer.read('10', tea, T0 - 60_000);
  const state = rows(writer.db, 'SELECT * FROM mirror_state');
  const pages = writer.db.pragma('page_count', { simple: true }) as number;
  logged(writer, delivery('small', item()), delivery('large', item({ id: '101', sku: 'x'.repeat(900_000) })));
  writer.db.pragma(`max_page_count = ${pages + 20}`);
  const { projection } = writer.writer;
  expect(() => projection.step([{ name: 'alive', args: { atMs: T0 } }])).toThrow(
    expect.objectContaining({ kind: 'cannot_commit', message: expect.stringContaining('SQLITE_FULL') }),
  );
  expect(values(writer.db, 'SELECT qty FROM stock_levels')).toEqual([5]);
  expect(rows(writer.db, 'SELECT * FROM mirror_state')).toEqual(state);
  expect(values(writer.db, 'SELECT alive_at_ms FROM service_state')).toEqual([null]);
  writer.db.pragma('max_page_count = 1000000');
  expect(projection.step([])).toMatchObject({ appliedSeq: 3 });
  expect(values(writer.db, 'SELECT new_qty FROM mirror_changes ORDER BY seq')).toEqual([5, 4, 4]);
  expect(writer.db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('each branch of the rules that was taken is counted, and the everyday ones are not told', () => {
  const writer = new DirectWriter();
  const { facts } = writer.deliver(delivery('a', item(), item({ id: '101' })));
  expect(facts.map((fact) => fact.kind)).toEqual(['unmapped', 'unmapped']);
  expect(writer.writer.branchCounts()).toMatchObject({ 'change: 1 new cell': 2, unmapped: 2 });
});
