/** The log applied again, and the tables as text to compare. */
import type { Entry } from '../../src/core/entry.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyEntry } from '../../src/core/apply/apply-entry.ts';
import { decodeEntry, type LogRow } from '../../src/event-log/entries.ts';
import { PROJECTED } from './projected.ts';
import { LogReader } from '../../src/event-log/read-log.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { Projection } from '../../src/mirror/writer/projection.ts';
import { SqliteTables } from '../../src/mirror/writer/sqlite-tables.ts';

/** All that applying it has written. */
export const dump = (db: Db): string =>
  JSON.stringify(PROJECTED.map((from) => db.prepare(`SELECT * FROM ${from}`).all()));

/**
 * @param into a mirror that has just begun.
 * @param each told of every entry once it is applied.
 * @returns the mirror.
 */
export function replay(
  from: Db,
  into: Db,
  each: (tables: SqliteTables, entry: Entry, facts: readonly Fact[]) => void = () => undefined,
): Db {
  const tables = new SqliteTables(into);
  const log = from
    .prepare<[number], LogRow>('SELECT seq, kind, at_ms AS atMs, payload FROM log WHERE seq > ? ORDER BY seq')
    .all(tables.state().appliedSeq);
  into.transaction(() => {
    for (const row of log) {
      const entry = decodeEntry(row, (productId) => tables.product(productId)?.detailJson ?? null);
      const facts: Fact[] = [];
      applyEntry(tables, entry, (fact) => facts.push(fact));
      each(tables, entry, facts);
    }
    tables.flush();
  })();
  return into;
}

/**
 * The tables as the program makes them of another mirror's event log.
 *
 * @param into an empty mirror.
 */
export function applyAgain(from: Db, into: Db): Db {
  const projection = new Projection(into, new LogReader(from));
  while (projection.step([]).entries > 0);
  return into;
}
