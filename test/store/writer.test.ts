/** One transaction at a time, and what becomes of it when it fails (docs/architecture.md#durability). */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Db } from '../../src/store/open.ts';
import type { Input } from '../../src/store/writer.ts';
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
} from './mirror-file.ts';

const arrived = (body: Uint8Array): Input => ({ kind: 'delivery', body, arrivedAtMs: T0 });

function failOn(db: Db, variantId: string, how: 'cells' | 'variants' = 'cells'): void {
  db.exec(`CREATE TRIGGER broken_${how} BEFORE INSERT ON ${how} WHEN NEW.variant_id = '${variantId}'
           BEGIN SELECT RAISE(ABORT, 'a fault of the program'); END`);
}

test('an input that breaks the rules fails alone: its neighbours are committed', () => {
  const writer = new DirectWriter();
  failOn(writer.db, '666');
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
  expect(values(writer.db, 'SELECT variant_id FROM cells ORDER BY 1')).toEqual(['101', '102', '103']);
  expect(values(writer.db, 'SELECT kind FROM log')).toEqual(['delivery', 'delivery', 'delivery']);
});

test('a large batch with one broken input takes a few transactions, not one per input', () => {
  const writer = new DirectWriter();
  failOn(writer.db, '666');
  let transactions = 0;
  const exec = writer.db.exec.bind(writer.db);
  writer.db.exec = (sql) => {
    if (sql.startsWith('BEGIN')) transactions += 1;
    return exec(sql);
  };
  const inputs = Array.from({ length: 256 }, (_, n) =>
    arrived(delivery(`r${n}`, item({ id: n === 100 ? '666' : String(1_000 + n) }))),
  );
  expect(writer.commit(...inputs).every((result) => result.ok)).toBe(true);
  expect(values(writer.db, 'SELECT count(*) FROM log')).toEqual([256]);
  expect(transactions).toBeLessThan(25);
});

test('a delivery that cannot be merged is kept, told, and every variant it names is read instead', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
  failOn(writer.db, '666');
  const body = delivery('a', item(), item({ id: '666' }), item({ id: '7', old: 'x' }));
  const appended = writer.deliver(body);
  expect(appended).toMatchObject({ seq: 2, duplicate: false });
  expect(appended.facts).toContainEqual({
    kind: 'quarantined',
    variantId: null,
    problem: 'not merged: a fault of the program',
  });
  expect(rows(writer.db, 'SELECT log_seq, variant_id FROM quarantine ORDER BY variant_id')).toEqual([
    { log_seq: 2, variant_id: '100' },
    { log_seq: 2, variant_id: '666' },
    { log_seq: 2, variant_id: '7' },
  ]);
  expect(rows(writer.db, 'SELECT product_id, reason, doubt FROM obligations')).toEqual([
    { product_id: '10', reason: 'quarantine', doubt: 1 },
  ]);
  expect(
    values(writer.db, 'SELECT variant_id FROM variants WHERE lookup_at_ms IS NOT NULL ORDER BY 1'),
  ).toEqual(['666', '7']);
  expect(writer.deliver(body)).toEqual({ seq: 2, duplicate: true, facts: [] });
});

test('one that cannot even be kept is not acknowledged, and nothing of it is written', () => {
  const writer = new DirectWriter();
  failOn(writer.db, '666', 'variants');
  const [result] = writer.commit(arrived(delivery('a', item({ id: '666' }))));
  expect(result).toMatchObject({ ok: false, error: { kind: 'cannot_commit' } });
  expect(values(writer.db, 'SELECT count(*) FROM log')).toEqual([0]);
  expect(writer.deliver(delivery('b', item())).seq).toBe(1);
});

test('while another program holds the write lock every input fails, and later ones do not', () => {
  const path = newPath();
  const writer = new DirectWriter(writerDb(path));
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const startedMs = performance.now();
  const results = writer.commit(arrived(delivery('a', item())), arrived(delivery('b', item())));
  expect(performance.now() - startedMs).toBeLessThan(800);
  for (const result of results) {
    expect(result).toMatchObject({
      ok: false,
      error: { kind: 'busy', message: expect.stringContaining('another program holds') },
    });
  }
  other.exec('COMMIT');
  expect(writer.deliver(delivery('c', item())).seq).toBe(1);
});

test('on a full disk the whole batch fails, nothing is half written, and it goes on once there is room', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
  const state = rows(writer.db, 'SELECT * FROM mirror_state');
  const pages = writer.db.pragma('page_count', { simple: true }) as number;
  writer.db.pragma(`max_page_count = ${pages + 20}`);
  const results = writer.commit(
    arrived(delivery('small', item())),
    arrived(delivery('large', item({ id: '101', sku: 'x'.repeat(900_000) }))),
    { kind: 'command', name: 'alive', args: { atMs: T0 } },
  );
  for (const result of results) {
    expect(result).toMatchObject({
      ok: false,
      error: { kind: 'cannot_commit', message: expect.stringContaining('SQLITE_FULL') },
    });
  }
  expect(values(writer.db, 'SELECT count(*) FROM log')).toEqual([1]);
  expect(values(writer.db, 'SELECT qty FROM cells')).toEqual([5]);
  expect(rows(writer.db, 'SELECT * FROM mirror_state')).toEqual(state);
  expect(values(writer.db, 'SELECT alive_at_ms FROM service_state')).toEqual([null]);
  expect(writer.writer.lastSeq).toBe(1);
  writer.db.pragma('max_page_count = 1000000');
  expect(writer.deliver(delivery('small', item())).seq).toBe(2);
  expect(values(writer.db, 'SELECT new_qty FROM mirror_changes ORDER BY seq')).toEqual([5, 4]);
  expect(writer.db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test.each([
  ['leaves the transaction open', false],
  ['has rolled it back already', true],
])(
  'a COMMIT that fails and %s rejects the whole batch, and the next one is committed',
  (_name, rollsBack) => {
    const writer = new DirectWriter();
    writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0 - 60_000);
    const state = rows(writer.db, 'SELECT * FROM mirror_state');
    const exec = writer.db.exec.bind(writer.db);
    const failing = vi.spyOn(writer.db, 'exec').mockImplementation((sql) => {
      if (sql !== 'COMMIT') return exec(sql);
      if (rollsBack) exec('ROLLBACK');
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
    });
    const results = writer.commit(
      arrived(delivery('a', item())),
      arrived(delivery('b', item({ id: '101' }))),
      { kind: 'command', name: 'alive', args: { atMs: T0 } },
    );
    expect(results).toHaveLength(3);
    for (const result of results) {
      expect(result).toMatchObject({
        ok: false,
        error: { kind: 'cannot_commit', message: expect.stringContaining('SQLITE_IOERR_FSYNC') },
      });
    }
    // Tried once: by halves it would fail as often as there are inputs.
    expect(failing.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1);
    failing.mockRestore();
    expect(values(writer.db, 'SELECT count(*) FROM log')).toEqual([1]);
    expect(rows(writer.db, 'SELECT * FROM mirror_state')).toEqual(state);
    expect(writer.writer.lastSeq).toBe(1);
    expect(writer.deliver(delivery('a', item()))).toMatchObject({ seq: 2, duplicate: false });
    expect(values(writer.db, 'SELECT new_qty FROM mirror_changes ORDER BY seq')).toEqual([5, 4]);
  },
);

test('each branch of the rules that was taken is counted, and the everyday ones are not told', () => {
  const writer = new DirectWriter();
  const { facts } = writer.deliver(delivery('a', item(), item({ id: '101' })));
  expect(facts.map((fact) => fact.kind)).toEqual(['unmapped', 'unmapped']);
  expect(writer.writer.branchCounts()).toMatchObject({ 'change: 1 new cell': 2, unmapped: 2 });
});

test('what another program writes is seen from the next transaction on', () => {
  const path = newPath();
  const writer = new DirectWriter(writerDb(path));
  writer.commit(arrived(delivery('a', item({ old: 5, new: 4 }))));
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('UPDATE cells SET qty = 77');
  writer.commit(arrived(delivery('b', item({ old: 4, new: 3, update_time: T0 + 1 }))));
  expect(rows(writer.db, 'SELECT old_qty, new_qty FROM changes ORDER BY seq DESC LIMIT 1')).toEqual([
    { old_qty: 77, new_qty: 3 },
  ]);
});
