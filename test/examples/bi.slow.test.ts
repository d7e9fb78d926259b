/** examples/bi: its data source and its query, with unixODBC and SQLite's driver, on the file of a running mirror. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, blockWith, documentAt } from '../docs/blocks.ts';
import { rows, startBoth, temporaryFolder } from '../process/harness.ts';
import { lacking } from '../shared/programs.ts';

const DOCUMENT = documentAt('examples/bi/README.md');
const DOCUMENTED_PATH = '/var/lib/stock-mirror/shop/stock-mirror.db';

const [source] = blocksOf(DOCUMENT, 'ini');
const query = blockWith(DOCUMENT, 'sh', 'isql').text;
const hasDriver = spawnSync('odbcinst', ['-q', '-d', '-n', 'SQLite3']).status === 0;
const needs = lacking('isql') || (hasDriver ? '' : ' (skipped: needs libsqliteodbc)');

test.skipIf(needs !== '')(`ODBC reads the mirror's values and writes none${needs}`, async (t) => {
  const { mirror } = await startBoth(t);
  const ODBCINI = join(temporaryFolder(t), 'odbc.ini');
  writeFileSync(ODBCINI, source?.text.replace(DOCUMENTED_PATH, mirror.databasePath) ?? '');
  const run = (command: string) =>
    spawnSync('bash', ['-c', command], {
      env: { ...process.env, ODBCINI, LANG: 'C.UTF-8' },
      encoding: 'utf8',
    });

  const { stdout, stderr } = run(query);
  expect(stderr).toBe('');
  const [columns, ...lines] = stdout.trimEnd().split('\n');
  expect(columns).toBe('sku,available_qty,suspect');
  const stock = rows<{ sku: string | null; available_qty: number; suspect: number }>(
    mirror.databasePath,
    'SELECT sku, available_qty, suspect FROM mirror_stock',
  );
  expect(stock.length).toBeGreaterThan(0);
  expect(lines.toSorted()).toEqual(
    stock.map(({ sku, available_qty, suspect }) => `${sku ?? ''},${available_qty},${suspect}`).toSorted(),
  );

  const refused = run('echo "DELETE FROM stock_levels" | isql -b -v stock');
  expect(refused.stdout + refused.stderr).toContain('readonly');
  expect(rows(mirror.databasePath, 'SELECT 1 FROM mirror_stock')).toHaveLength(stock.length);
});
