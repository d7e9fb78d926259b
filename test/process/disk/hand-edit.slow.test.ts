/** Somebody at a read-write shell changes figures of the mirror: refused; and made right where the guards were taken away. */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { plainVariants, rows, startBoth, untilEqual, untilLogged } from '../harness.ts';

test('a stray UPDATE is refused while the mirror runs', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const shell = new Database(mirror.databasePath, { timeout: 5_000 });
  t.onTestFinished(() => void shell.close());
  expect(() => shell.exec('UPDATE stock_levels SET qty = 99999')).toThrow('kept by stock-mirror alone');
  await untilEqual(mirror, sandbox);
});

test('one by somebody who has dropped the trigger is noticed, logged as such, and repaired', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const [{ variantId, warehouseId }] = plainVariants(sandbox, 1);
  const where = `variant_id = '${variantId}' AND warehouse_id = '${warehouseId}'`;
  const shell = new Database(mirror.databasePath, { timeout: 5_000 });
  shell.exec(`DROP TRIGGER stock_levels_guard_update; UPDATE stock_levels SET qty = 99999 WHERE ${where}`);
  shell.close();
  await untilLogged(
    mirror,
    ({ msg }) => String(msg).includes('was changed by hand: trigger stock_levels_guard_update'),
    'the edit is noticed',
  );
  await untilEqual(mirror, sandbox);
  expect(rows(mirror.databasePath, `SELECT suspect FROM mirror_stock WHERE ${where}`)).toEqual([
    { suspect: 0 },
  ]);
});
