/** `verify --local`: the file alone, by an account that has no settings of the store. */
import { expect, test } from 'vitest';
import { verifyLocally } from '../../../src/cli/verify/local.ts';
import { openReader } from '../../../src/sqlite/open.ts';
import { present } from '../../shared/present.ts';
import { newStore } from '../../reconcile/mirror.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';

test('a mirror is where its changes lead; what another program has written is found', async () => {
  const store = newStore();
  await store.writer.appendDelivery(delivery('a', item({ old: 9, new: 8 })), Date.now());
  await store.writer.appendDelivery(
    delivery('b', item({ old: 8, new: 5, update_time: Date.now() + 1 })),
    Date.now(),
  );
  await store.writer.command('settle', undefined);
  const [main] = store.rows<{ file: string }>('PRAGMA database_list');
  const look = () => {
    const db = openReader(present(main).file);
    try {
      return verifyLocally(db);
    } finally {
      db.close();
    }
  };
  expect(look()).toEqual({ levels: 1, changes: 2, untold: 0, faults: [], damage: [] });

  store.change('UPDATE stock_levels SET qty = 77');
  expect(look().faults).toEqual([
    { what: 'level', variantId: '100', warehouseId: '1', seq: null, expected: 5, found: 77 },
  ]);
  store.change('UPDATE stock_levels SET qty = 5');
  store.change('UPDATE changes SET old_qty = 6 WHERE new_qty = 5');
  expect(look().faults).toMatchObject([{ what: 'chain', expected: 8, found: 6 }]);
  // Pruned: nothing is known of how it came to be.
  store.change('DELETE FROM changes');
  expect(look()).toMatchObject({ levels: 1, changes: 0, untold: 1, faults: [] });
});
