/** The writer's thread: see write-loop.ts. */
import { openOwnDatabase } from './own-database.ts';
import { ownerOfThread } from './thread.ts';
import { serveWriter, type FromWriter, type ToWriter } from './write-loop.ts';

const { owner, path } = ownerOfThread<ToWriter, FromWriter>();
serveWriter(owner, () => openOwnDatabase(path));
