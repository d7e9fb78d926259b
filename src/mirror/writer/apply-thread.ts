import { collectOnceLoaded } from '../../platform/heap.ts';
import { hostTime } from '../../platform/host-time.ts';
import { lagBehind, ownerOfThread } from '../../platform/thread.ts';
import type { Reply, Request } from '../../sqlite/worker.ts';
import type { FileOpening } from '../start.ts';
import { ApplyServer, openOwnMirror, type ApplyCalls, type ApplyEvent } from './serve-apply.ts';

lagBehind();
collectOnceLoaded();
const { owner, options } = ownerOfThread<Request<ApplyCalls>, Reply<ApplyEvent>>();
/** `sinceBootMs` is that of `nowMs`: the thread may begin seconds later. */
const { path, sinceBootMs, ...opening } = options as FileOpening & { path: string; sinceBootMs: number };
const host = hostTime();
const now = (): number => opening.nowMs + host.sinceBootMs() - sinceBootMs;
new ApplyServer(owner).start(() => openOwnMirror(path, { ...opening, now }));
