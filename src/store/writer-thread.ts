/** The writer's thread: see write-loop.ts. */
import { lockDatabase } from './lock.ts';
import { openWriter } from './open.ts';
import { ownerOfThread } from './thread.ts';
import { serveWriter, type FromWriter, type ToWriter } from './write-loop.ts';

const { owner, path } = ownerOfThread<ToWriter, FromWriter>();
serveWriter(owner, () => {
  const lock = lockDatabase(path);
  try {
    return { db: openWriter(path), release: () => lock.release() };
  } catch (error) {
    lock.release();
    throw error;
  }
});
