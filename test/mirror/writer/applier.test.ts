/** Inputs become rows once, in order (docs/architecture.md#data-flow). */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Applier, type Task } from '../../../src/mirror/writer/applier.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { appended } from '../direct-writer.ts';
import { delivery, detail, DirectWriter, item, readInput, rows, T0, values } from '../mirror-file.ts';
import { dump } from '../projected.ts';

const tea = detail('10', [{ id: '100', levels: { 1: 5 } }]);
const read = (found = tea): Task => ({
  kind: 'input',
  input: readInput('10', found, { sentAtMs: T0 }),
});
const noted: Task = { kind: 'command', name: 'noteMinute', args: { minute: 7, values: {} } };

function arrived({ writer }: DirectWriter, ...bodies: readonly Uint8Array[]): void {
  writer.inbox.append(appended(bodies.map((body) => ({ body, arrivedAtMs: T0 }))));
}

const again = ({ db, writer }: DirectWriter): Applier => new Applier(db, writer.inboxDb);

function applyAll(applier: Applier): void {
  while (applier.step([]) !== null);
}

/** Makes writes of this variant fail. */
function failOn(db: Db, variantId: string, ...tables: readonly ('stock_levels' | 'variants')[]): void {
  for (const table of tables) {
    db.exec(`CREATE TRIGGER broken_${table} BEFORE INSERT ON ${table} WHEN NEW.variant_id = '${variantId}'
             BEGIN SELECT RAISE(ABORT, 'a fault of the program'); END`);
  }
}

const stored = (db: Db): unknown => rows(db, 'SELECT inbox_seq, applied_seq FROM mirror_state')[0];

test('applies many inputs in one transaction and stores the position reached', () => {
  const made = new DirectWriter();
  arrived(made, delivery('a', item()), delivery('b', item({ id: '101' })));
  const commits = vi.spyOn(made.db, 'exec');
  const step = made.writer.applier.step([read(), noted]);
  expect(commits.mock.calls.map(([sql]) => sql)).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
  expect(step?.results).toMatchObject([{ ok: true, value: { seq: 3 } }, { ok: true }]);
  expect(stored(made.db)).toEqual({ inbox_seq: 2, applied_seq: 3 });
  expect(made.writer.applier.position).toMatchObject({ inboxSeq: 2, inputSeq: 3 });
  expect(made.writer.applier.step([])).toBeNull();
});

test('applies the whole inbox before a read', () => {
  const made = new DirectWriter();
  const { applier } = made.writer;
  const chain = Array.from({ length: 600 }, (_, n) =>
    delivery(`r${n}`, item({ old: 1_000 - n, new: 999 - n, update_time: T0 + n })),
  );
  arrived(made, ...chain);
  const tasks = [read(detail('10', [{ id: '100', levels: { 1: 7 } }]))];
  const results = [applier.step(tasks), applier.step(tasks), applier.step(tasks)].map(
    (step) => step?.results.length,
  );
  expect(results).toEqual([0, 0, 1]);
  expect(applier.position).toMatchObject({ inboxSeq: 600, inputSeq: 601 });
  expect(values(made.db, 'SELECT inbox_seq FROM changes WHERE source = ? ORDER BY seq', 'webhook')).toEqual(
    chain.map((_, n) => n + 1),
  );
  expect(values(made.db, `SELECT count(*) FROM gaps WHERE kind = 'loss'`)).toEqual([0]);
  expect(values(made.db, 'SELECT qty FROM stock_levels')).toEqual([400]);
});

test('fails only the input that throws', () => {
  const made = new DirectWriter();
  failOn(made.db, '666', 'stock_levels');
  const broken = readInput('66', detail('66', [{ id: '666', levels: { 1: 1 } }]), { sentAtMs: T0 });
  arrived(made, delivery('a', item({ id: '101' })));
  const step = made.writer.applier.step([
    { kind: 'input', input: broken },
    { kind: 'command', name: 'failRead', args: null },
    noted,
    read(),
  ]);
  expect(step?.results).toMatchObject([
    { ok: false, error: { kind: 'cannot_commit', message: expect.stringContaining('a fault') } },
    { ok: false },
    { ok: true },
    { ok: true },
  ]);
  expect(values(made.db, 'SELECT variant_id FROM stock_levels ORDER BY 1')).toEqual(['100', '101']);
  expect(values(made.db, 'SELECT minute FROM minutes')).toEqual([7]);
});

test('turns a delivery that throws into dead letters and reads of its products', () => {
  const made = new DirectWriter();
  made.read('10', tea, T0 - 60_000);
  failOn(made.db, '666', 'stock_levels');
  arrived(
    made,
    delivery('a', item(), item({ id: '666' }), item({ id: '7', old: 'x' })),
    delivery('b', item({ id: '101' })),
  );
  const facts = made.writer.applier.step([])?.reports.flatMap((report) => report.facts);
  expect(facts).toContainEqual({ kind: 'defect', problem: 'a fault of the program' });
  expect(facts).toContainEqual({
    kind: 'dead_letter',
    variantId: '666',
    problem: 'not merged: a fault of the program',
  });
  expect(
    rows(made.db, 'SELECT inbox_seq, arrived_at_ms, variant_id FROM dead_letters ORDER BY variant_id'),
  ).toEqual(['100', '666'].map((variant_id) => ({ inbox_seq: 1, arrived_at_ms: T0, variant_id })));
  expect(rows(made.db, 'SELECT product_id, is_suspect FROM due_reads')).toEqual([
    { product_id: '10', is_suspect: 1 },
  ]);
  expect(
    values(made.db, 'SELECT variant_id FROM variants WHERE lookup_at_ms IS NOT NULL ORDER BY 1'),
  ).toContain('666');
  expect(values(made.db, `SELECT qty FROM stock_levels WHERE variant_id = '101'`)).toEqual([4]);
  expect(stored(made.db)).toEqual({ inbox_seq: 2, applied_seq: 3 });
});

test('suspects everything if the dead letters cannot be written, and applies the next delivery', () => {
  const made = new DirectWriter();
  made.read('10', tea, T0 - 60_000);
  failOn(made.db, '666', 'stock_levels', 'variants');
  made.deliver(delivery('a', item({ id: '666' })));
  expect(values(made.db, 'SELECT trusted_after_ms FROM mirror_state')).toEqual([T0 + 2_000]);
  expect(rows(made.db, 'SELECT inbox_seq, variant_id FROM dead_letters')).toEqual([
    { inbox_seq: 1, variant_id: null },
  ]);
  made.deliver(delivery('b', item()));
  expect(stored(made.db)).toEqual({ inbox_seq: 2, applied_seq: 3 });
});

test.each([
  ['leaves the transaction open', []],
  ['has rolled it back', ['ROLLBACK']],
  ['is on disk all the same', ['COMMIT']],
])('applies each delivery once after a failed commit that %s', (_, instead) => {
  const made = new DirectWriter();
  made.read('10', tea, T0 - 60_000);
  arrived(made, delivery('a', item()), delivery('b', item({ id: '101' })));
  const exec = made.db.exec.bind(made.db);
  const failing = vi.spyOn(made.db, 'exec').mockImplementation((sql) => {
    if (sql !== 'COMMIT') return exec(sql);
    for (const other of instead) exec(other);
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  });
  expect(() => made.writer.applier.step([noted])).toThrow(
    expect.objectContaining({
      kind: 'cannot_commit',
      message: expect.stringContaining('SQLITE_IOERR_FSYNC'),
    }),
  );
  expect(failing.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1);
  failing.mockRestore();
  const next = again(made);
  applyAll(next);
  expect(next.position).toMatchObject({ inboxSeq: 2, inputSeq: 3 });
  expect(
    rows(made.db, 'SELECT inbox_seq, new_qty FROM changes WHERE warehouse_id IS NOT NULL ORDER BY seq'),
  ).toEqual([
    { inbox_seq: null, new_qty: 5 },
    { inbox_seq: 1, new_qty: 4 },
    { inbox_seq: 2, new_qty: 4 },
  ]);
});

test('writes nothing on a full disk and applies all once there is room', () => {
  const made = new DirectWriter();
  made.read('10', tea, T0 - 60_000);
  const before = dump(made.db);
  arrived(made, delivery('small', item()), delivery('large', item({ id: '101', sku: 'x'.repeat(900_000) })));
  made.db.pragma(`max_page_count = ${(made.db.pragma('page_count', { simple: true }) as number) + 20}`);
  expect(() => made.writer.applier.step([noted])).toThrow(
    expect.objectContaining({ kind: 'no_room', message: expect.stringContaining('SQLITE_FULL') }),
  );
  expect(dump(made.db)).toBe(before);
  made.db.pragma('max_page_count = 1000000');
  applyAll(again(made));
  expect(values(made.db, 'SELECT new_qty FROM mirror_changes ORDER BY seq')).toEqual([5, 4, 4]);
  expect(made.db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('names a write lock of another program', () => {
  const made = new DirectWriter();
  arrived(made, delivery('a', item()));
  const other = new Database(made.db.name);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  expect(() => made.writer.applier.step([])).toThrow(
    expect.objectContaining({
      kind: 'busy',
      message: expect.stringContaining(`${made.db.name} is locked by another program`),
    }),
  );
  other.exec('COMMIT');
  applyAll(again(made));
  expect(stored(made.db)).toEqual({ inbox_seq: 1, applied_seq: 1 });
});

test('names an inbox that cannot be read', () => {
  const { writer } = new DirectWriter();
  writer.inboxDb.exec('DROP TABLE inbox');
  expect(() => writer.applier.step([])).toThrow(writer.inboxDb.name);
});

test('stores the outcome of each item in order', () => {
  const made = new DirectWriter();
  made.read('10', tea, T0 - 60_000);
  const { facts } = made.deliver(delivery('a', item(), item({ id: 'odd' }), item({ id: '101' }), item()));
  expect(rows(made.db, 'SELECT inbox_seq, outcomes FROM deliveries')).toEqual([
    { inbox_seq: 1, outcomes: '4c follows|1 new level|3 duplicate' },
  ]);
  expect(facts.map(({ kind }) => kind)).not.toContain('change');
});
