import { inboxPath } from '../../inbox/inbox-file.ts';
import { explain } from '../../sqlite/explain.ts';
import { doneOrClosed, openReader, READER_CACHE_KIB, type Db } from '../../sqlite/open.ts';

export function openForQueries(path: string): Db {
  return doneOrClosed(openReader(path), (db) => attachInbox(db, path));
}

export function attachInbox(db: Db, path: string): void {
  const inbox = inboxPath(path);
  explain(inbox, () => {
    db.prepare('ATTACH ? AS inbox_file').run(inbox);
    db.pragma(`inbox_file.cache_size = -${READER_CACHE_KIB}`);
  });
}
