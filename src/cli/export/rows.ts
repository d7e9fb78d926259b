/** The rows of an export, all of one instant: one statement is one read transaction. */
import type { Db } from '../../sqlite/open.ts';

export type Row = Readonly<Record<string, string | number | null>>;

export interface Rows {
  readonly columns: readonly string[];
  /** Can be iterated once. The read transaction lasts until the end of the iteration. */
  readonly all: IterableIterator<Row>;
}

/** @param afterSeq only rows with a higher number; null: all. In ascending order, from an index. */
export function rowsToExport(
  db: Db,
  { changes, afterSeq }: { readonly changes: boolean; readonly afterSeq: number | null },
): Rows {
  const after = afterSeq ?? -1;
  const statement = changes
    ? db.prepare<[number], Row>('SELECT * FROM mirror_changes WHERE seq > ? ORDER BY seq')
    : db.prepare<[number], Row>('SELECT * FROM mirror_stock WHERE change_seq > ? ORDER BY change_seq');
  const columns = statement.columns().map(({ name }) => name);
  return { columns, all: lazily(() => statement.iterate(after)) };
}

/**
 * While it iterates, a connection can do nothing else, not even close. The iteration begins with the first row asked
 * for.
 */
function* lazily<T>(begin: () => Iterable<T>): Generator<T, void, undefined> {
  yield* begin();
}
