/** Somebody at a read-write shell changes figures of the mirror: noticed, suspect, and read again from the store. */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventually, plainVariants, rows, startBoth, untilEqual, untilLogged } from '../harness.ts';

test('a stray UPDATE is noticed, logged with its product, and repaired', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const [cell] = plainVariants(sandbox, 1);
  const { variantId, warehouseId, productId } = cell;
  const where = `variant_id = '${variantId}' AND warehouse_id = '${warehouseId}'`;
  const shell = new Database(mirror.databasePath, { timeout: 5_000 });
  shell.exec(`UPDATE cells SET qty = 99999 WHERE ${where}`);
  shell.close();
  const [line] = await untilLogged(
    mirror,
    ({ msg }) => String(msg).startsWith('another program has changed rows of the mirror'),
    'the edit is noticed',
  );
  expect(line).toMatchObject({ products: 1, productIds: [productId] });
  await untilEqual(mirror, sandbox);
  await eventually(() => rows(mirror.databasePath, 'SELECT 1 FROM hand_edits').length === 0, {
    what: 'the edit is forgotten',
  });
  expect(rows(mirror.databasePath, `SELECT suspect FROM mirror_stock WHERE ${where}`)).toEqual([
    { suspect: 0 },
  ]);
});
