/**
 * Triggers by which the mirror's tables refuse what another program writes: a stray UPDATE at a shell fails, and says
 * why (docs/architecture.md#rows-that-another-program-writes). The mirror's own transactions open them (own-write.ts), and so must
 * a migration that writes rows. When one changes, `npm run db:views` prints the statements for the next migration.
 */
import * as columns from './columns.ts';

const REFUSAL =
  'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own';

const WRITES = ['insert', 'update', 'delete'] as const;
type Write = (typeof WRITES)[number];

/** A trigger costs each row that is written. These writes are of every change and every first read. */
const UNGUARDED: Readonly<Record<string, readonly Write[]>> = {
  // Noticed instead: the number of a row that the mirror did not give out is above the last one that it did.
  changes: ['insert'],
  // Written by triggers themselves.
  live_counts: ['insert', 'update'],
  product_stock_levels: ['insert', 'update'],
  // The writer's own way in.
  own_write: ['update'],
};

/** Its one row stays, open or not. */
const UNLESS_OPEN = ' WHEN (SELECT is_open FROM own_write) = 0';

/** By name, as SQLite keeps them. */
export const GUARDS: ReadonlyMap<string, string> = new Map(
  Object.values(columns).flatMap(({ name: table }) =>
    WRITES.filter((write) => UNGUARDED[table]?.includes(write) !== true).map((write): [string, string] => {
      const name = `${table}_guard_${write}`;
      return [
        name,
        `CREATE TRIGGER ${name} AFTER ${write.toUpperCase()} ON ${table}${table === 'own_write' ? '' : UNLESS_OPEN}
BEGIN
  SELECT RAISE(ABORT, '${REFUSAL}');
END`,
      ];
    }),
  ),
);
