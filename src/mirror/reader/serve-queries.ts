import { inboxPath } from '../../inbox/inbox-file.ts';
import { isDamage, plainError, sqliteCode, SqliteFault } from '../../sqlite/errors.ts';
import { explain, explained } from '../../sqlite/explain.ts';
import { doneOrClosed, openReader, type Db } from '../../sqlite/open.ts';
import type { Answering } from '../../sqlite/worker.ts';
import * as queries from './queries.ts';

export type QueryCalls = {
  query: { args: { readonly name: queries.QueryName; readonly args: unknown }; result: unknown };
  close: { args: undefined; result: undefined };
  end: { args: undefined; result: undefined };
};

type Query = (db: Db, args: unknown) => unknown;

export function openForQueries(path: string): Db {
  return doneOrClosed(openReader(path), (db) => attachInbox(db, path));
}

export function attachInbox(db: Db, path: string): void {
  const inbox = inboxPath(path);
  explain(inbox, () => db.prepare('ATTACH ? AS inbox_file').run(inbox));
}

export function serveQueries(owner: Answering<QueryCalls, never>, open: () => Db): void {
  let db: Db | null = null;
  owner.onMessage((request) => {
    const { id } = request;
    if (request.name !== 'query') {
      db?.close();
      owner.post({ id, value: undefined });
      owner.close();
      return;
    }
    const { name, args } = request.args;
    const fail = (error: unknown): void => owner.post({ id, error: plainError(failed(name, db, error)) });
    const run = (found: Readonly<Record<string, unknown>>): void => {
      try {
        owner.post({ id, value: (found[name] as Query)((db ??= open()), args) });
      } catch (error) {
        fail(error);
      }
    };
    if (name in queries) run(queries);
    else import('./parsing-queries.ts').then(run, fail);
  });
}

function failed(name: queries.QueryName, db: Db | null, error: unknown): SqliteFault {
  const isOfFile = error instanceof SqliteFault || sqliteCode(error) !== null;
  if (!isOfFile || db === null) return explained(`query ${name}`, error);
  // Queries that parse bodies read the inbox: the mirror need not be opened again.
  if (!(name in queries)) return new SqliteFault('unreachable', explained(inboxPath(db.name), error).message);
  const { kind, message } = explained(db.name, error);
  return new SqliteFault(isDamage(error) ? 'damaged' : kind, message, { cause: error });
}
