import { expect, test } from 'vitest';
import { delivery, detail, item, readInput, readerDb, rows, startDatabases, T0 } from '../mirror-file.ts';
import { dump } from '../projected.ts';

const LEVELS = 'SELECT warehouse_id, warehouse_name FROM mirror_stock ORDER BY warehouse_id';

test('shows warehouse names in the views until each is removed', async () => {
  const databases = await startDatabases();
  const found = detail('1', [{ id: '100', levels: { 11: 5, 12: 0 } }]);
  await databases.mirror.append(readInput('1', found, { sentAtMs: T0 - 60_000 }));
  databases.inbox.append(delivery('a', item({ warehouse_id: '11', old: 5, new: 4 })), T0);
  await databases.mirror.command('retryFailures', undefined);
  const db = readerDb(databases.path);
  const before = dump(db);
  const named = async (names: Record<string, string | null>) => {
    await databases.mirror.command('nameWarehouses', { names });
    return rows(db, LEVELS).map((row) => row['warehouse_name']);
  };
  expect(rows(db, LEVELS)).toEqual([
    { warehouse_id: '11', warehouse_name: null },
    { warehouse_id: '12', warehouse_name: null },
  ]);
  expect(await named({ 11: 'กรุงเทพ', 12: 'Chiang Mai', 13: 'not mirrored' })).toEqual([
    'กรุงเทพ',
    'Chiang Mai',
  ]);
  expect(await named({ 11: 'Bangkok', 12: null })).toEqual(['Bangkok', null]);
  for (const view of ['mirror_changes', 'mirror_stock']) {
    const reported = `SELECT DISTINCT warehouse_name FROM ${view} WHERE warehouse_id = '11'`;
    expect(rows(db, reported), view).toEqual([{ warehouse_name: 'Bangkok' }]);
  }
  expect(dump(db)).toEqual(before);
  expect(await named({})).toEqual(['Bangkok', null]);
});
