/** The writer's thread: see write-loop.ts. */
import { takeUpHistory } from './epoch.ts';
import { explain } from './explain.ts';
import { lockDatabase } from './lock.ts';
import { MarkKeeper } from './mark.ts';
import { openWriter } from './open.ts';
import { ownerOfThread } from './thread.ts';
import { serveWriter, type FromWriter, type OwnDatabase, type ToWriter } from './write-loop.ts';

const { owner, path } = ownerOfThread<ToWriter, FromWriter>();
serveWriter(owner, (): OwnDatabase => {
  const lock = lockDatabase(path);
  let db;
  try {
    db = openWriter(path);
    const opened = db;
    const news = explain(path, () => takeUpHistory(opened, path, Date.now()));
    const keeper = new MarkKeeper(db, path);
    return {
      db,
      news,
      beforeClose: () => {
        const unwritten = keeper.keep();
        return unwritten === null ? [] : [unwritten];
      },
      release: () => lock.release(),
    };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
});
