import { inboxPath } from '../../inbox/inbox-file.ts';
import { isDamage, SqliteFault, sqliteCode } from '../../sqlite/errors.ts';
import { explained } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import * as queries from './queries.ts';
import type { QueryName } from './queries.ts';

type Ask = (db: Db, args: unknown) => unknown;

/** Queries that parse bodies: if one fails, the inbox may be at fault, and the mirror need not be opened again. */
const OF_THE_INBOX: ReadonlySet<QueryName> = new Set(['deliveryAt', 'deliveryPage', 'variantView']);

/** Answers queries by a connection that cannot write, opened by the first of them. */
export class Reader {
  readonly #open: () => Db;
  #db: Db | null = null;

  constructor(open: () => Db) {
    this.#open = open;
  }

  /** @throws SqliteFault: `damaged` if the mirror's file is. */
  answer(name: QueryName, args: unknown): unknown {
    try {
      this.#db ??= this.#open();
      return (queries[name] as Ask)(this.#db, args);
    } catch (error) {
      throw failed(name, this.#db, error);
    }
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
  }
}

function failed(name: QueryName, db: Db | null, error: unknown): SqliteFault {
  const isOfFile = error instanceof SqliteFault || sqliteCode(error) !== null;
  if (!isOfFile || db === null) return explained(`query ${name}`, error);
  // The receiver replaces a damaged inbox, and the mirror follows it.
  const isOfInbox = error instanceof SqliteFault && error.kind === 'inbox_damaged';
  if (isOfInbox || OF_THE_INBOX.has(name)) {
    return new SqliteFault('unreachable', explained(inboxPath(db.name), error).message);
  }
  const { kind, message } = explained(db.name, error);
  return new SqliteFault(isDamage(error) ? 'damaged' : kind, message, { cause: error });
}
