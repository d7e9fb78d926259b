/** The thread of an event log that is a copy: see append-loop.ts. */
import { ownerOfThread } from '../platform/thread.ts';
import { serveEventLog, type FromLog, type ToLog } from './append-loop.ts';
import { openOwnLog } from './own-log.ts';

const { owner, path } = ownerOfThread<ToLog, FromLog>();
serveEventLog(owner, () => openOwnLog(path, 'copy'));
