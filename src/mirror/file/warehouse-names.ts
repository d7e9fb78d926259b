import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';

/** Names by id: those of `WAREHOUSE_NAMES`, and those given on the page. */
export function warehouseNames(db: Db): ReadonlyMap<string, string> {
  const rows = prepareRows<[], { readonly id: string; readonly name: string }>(
    db,
    { id: 'warehouse_id', name: 'name' },
    (list) => `SELECT ${list} FROM warehouse_names`,
  );
  return new Map(rows.all().map(({ id, name }) => [id, name]));
}
