import { inboxPath } from '../../inbox/inbox-file.ts';
import { explain } from '../../sqlite/explain.ts';
import { doneOrClosed, openReader, type Db } from '../../sqlite/open.ts';

export function openForQueries(path: string): Db {
  return doneOrClosed(openReader(path), (db) => attachInbox(db, path));
}

export function attachInbox(db: Db, path: string): void {
  const inbox = inboxPath(path);
  explain(inbox, () => db.prepare('ATTACH ? AS inbox_file').run(inbox));
}
