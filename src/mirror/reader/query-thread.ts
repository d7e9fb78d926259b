import { ownerOfThread } from '../../platform/thread.ts';
import type { Reply, Request } from '../../sqlite/worker.ts';
import { openForQueries, serveQueries, type QueryCalls } from './serve-queries.ts';

const { owner, options } = ownerOfThread<Request<QueryCalls>, Reply<never>>();
serveQueries(owner, () => openForQueries((options as { path: string }).path));
