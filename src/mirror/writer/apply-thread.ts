import { ownerOfThread } from '../../platform/thread.ts';
import type { Reply, Request } from '../../sqlite/worker.ts';
import type { StartOptions } from '../start.ts';
import { openOwnMirror, serveApply, type ApplyCalls, type ApplyEvent } from './serve-apply.ts';

const { owner, options } = ownerOfThread<Request<ApplyCalls>, Reply<ApplyEvent>>();
const { path, ...apply } = options as StartOptions & { path: string };
serveApply(owner, () => openOwnMirror(path, apply));
