/** The thread of an outbox: see append-loop.ts. */
import { ownerOfThread } from '../platform/thread.ts';
import { serveEventLog, type FromLog, type ToLog } from './append-loop.ts';
import { openOutbox } from './outbox.ts';

const { owner, path } = ownerOfThread<ToLog, FromLog>();
serveEventLog(owner, () => openOutbox(path));
