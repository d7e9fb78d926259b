import { ownerOfThread } from '../platform/thread.ts';
import type { Reply, Request } from '../sqlite/worker.ts';
import { lockAndOpen, serveInbox, type InboxCalls, type InboxCommit } from './serve-inbox.ts';

const { owner, options } = ownerOfThread<Request<InboxCalls>, Reply<InboxCommit>>();
serveInbox(owner, () => lockAndOpen((options as { path: string }).path));
