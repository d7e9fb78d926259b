import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openReader, type Db } from '../../../src/sqlite/open.ts';
import { openWriter } from '../../../src/mirror/file/open-writer.ts';
import { present } from '../../shared/present.ts';
import { databaseOf, homeOf, run, startService, withEnv, type Home } from '../harness.ts';

const AWKWARD = [
  'plain',
  'a,b',
  'say "so"',
  'two\r\nlines',
  'a\nb',
  '=1+1',
  '+66',
  '-A1',
  '@x',
  'สมหญิง ',
  '',
  null,
] as const;

let home: Home;
let db: Db;

function fill(path: string, skus: readonly (string | null)[]): void {
  const writer = openWriter(path);
  const variant = writer.prepare(
    `INSERT INTO variants (variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock, bundled_by_count,
       as_of_ms, event_at_ms, change_seq) VALUES (?, '1', ?, 'v', 'own', 1, 0, 0, 5, 0, ?)`,
  );
  const level = writer.prepare(
    `INSERT INTO stock_levels (variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count,
       event_at_ms, read_lo_ms, read_hi_ms, read_at_ms, change_seq) VALUES (?, '7', ?, 'webhook', 5, 0, 0, 0, 0, 0, 0, 0, ?)`,
  );
  const change = writer.prepare(
    `INSERT INTO changes (seq, inbox_seq, variant_id, warehouse_id, sku, old_qty, new_qty, source, recorded_at_ms)
     VALUES (?, 1, ?, '7', ?, NULL, ?, 'webhook', 5)`,
  );
  writer.transaction(() => {
    writer.exec(
      "INSERT INTO products (product_id, name, read_at_ms, has_bundle) VALUES ('1', 'A name', 1, 0)",
    );
    for (const [i, sku] of skus.entries()) {
      variant.run(String(i), sku, i + 1);
      level.run(String(i), -i, i + 1);
      change.run(i + 1, String(i), sku, -i);
    }
  })();
  writer.close();
}

beforeAll(async () => {
  home = await homeOf(await startService({ products: 1 }));
  fill(databaseOf(home), AWKWARD);
  db = openReader(databaseOf(home));
  return () => void db.close();
});

function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === ',') continue;
    rows.push(row);
    row = [];
  }
  expect(row).toEqual([]);
  return rows;
}

const fieldsOf = (rows: readonly object[]): string[][] =>
  rows.map((row) => Object.values(row).map((value) => (value === null ? '' : String(value))));

describe('csv', () => {
  test('writes columns and rows of the view with any text', async () => {
    const { code, stdout, stderr } = await run(home, 'export', '--format', 'csv');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = db.prepare<[], object>('SELECT * FROM mirror_sellable ORDER BY change_seq').all();
    const [header, ...lines] = parseCsv(stdout);
    expect(header).toEqual(Object.keys(present(rows[0])));
    expect(lines).toEqual(fieldsOf(rows));
    expect(rows).toHaveLength(AWKWARD.length);
  });

  test('writes a byte order mark and no formulas with --spreadsheet', async () => {
    const { code, stdout } = await run(home, 'export', '--format', 'csv', '--spreadsheet');
    expect(code).toBe(0);
    expect(stdout.startsWith('\uFEFFvariant_id,')).toBe(true);
    const [header, ...lines] = parseCsv(stdout.slice(1));
    const at = (name: string) => lines.map((line) => line[present(header).indexOf(name)]);
    expect(at('sku').slice(5, 9)).toEqual(["'=1+1", "'+66", "'-A1", "'@x"]);
    expect(at('available_qty').slice(1, 4)).toEqual(['-1', '-2', '-3']);
  });
});

test('json writes a line per row of stock or, with --changes, of the feed', async () => {
  const linesOf = async (...args: string[]): Promise<unknown[]> => {
    const { code, stdout } = await run(home, 'export', '--format', 'json', ...args);
    expect(code).toBe(0);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);
  };
  expect(await linesOf()).toEqual(db.prepare('SELECT * FROM mirror_sellable ORDER BY change_seq').all());
  const changes = db.prepare('SELECT * FROM mirror_changes ORDER BY seq').all();
  expect(await linesOf('--changes')).toEqual(changes);
  expect(await linesOf('--changes', '--after', '3')).toEqual(changes.slice(3));
  expect(await linesOf('--after', '100')).toEqual([]);
});

test('--output replaces a file only with --force and keeps links and mode', async () => {
  const path = join(home.folder, 'stock.csv');
  const real = join(home.folder, 'real.csv');
  writeFileSync(real, 'old', { mode: 0o640 });
  symlinkSync('real.csv', path);
  const unasked = await run(home, 'export', '--format', 'csv', '--output', 'stock.csv');
  expect(unasked).toMatchObject({ code: 1, stdout: '' });
  expect(unasked.stderr).toContain('stock.csv exists: name another file, or replace it with --force');
  expect(readFileSync(path, 'utf8')).toBe('old');
  const { code, stdout } = await run(home, 'export', '--output', 'stock.csv', '--force');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(parseCsv(readFileSync(real, 'utf8'))).toHaveLength(AWKWARD.length + 1);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(statSync(real).mode & 0o777).toBe(0o640);
  for (const [name, said] of [
    ['nowhere/stock.csv', 'nowhere does not exist: create it first'],
    ['/dev/null', '/dev/null is a folder or a device: name a file'],
    ['mirror.db', 'belongs to the database that is read: name another file'],
  ] as const) {
    const refused = await run(home, 'export', '--format', 'csv', '--output', name, '--force');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(said);
  }
  expect(existsSync(join(home.folder, 'nowhere'))).toBe(false);
  expect(readdirSync(home.folder).filter((name) => name.startsWith('.'))).toEqual([]);
  expect((await run(home, 'export', '--format', 'json', '--spreadsheet')).code).toBe(2);
  expect((await run(home, 'export', '--format', 'json', '--force')).code).toBe(2);
  const nowhere = withEnv(home, { TMPDIR: join(home.folder, 'nowhere') });
  expect((await run(nowhere, 'export', '--format', 'json')).stderr).toMatch(
    /^error: cannot write in \S+nowhere \(ENOENT\): [^\n]* another folder \(--output or TMPDIR\)/,
  );
});
