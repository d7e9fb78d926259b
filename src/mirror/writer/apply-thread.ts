import { hostTime } from '../../platform/host-time.ts';
import { ownerOfThread } from '../../platform/thread.ts';
import type { Reply, Request } from '../../sqlite/worker.ts';
import type { Opening } from '../start.ts';
import { openOwnMirror, serveApply, type ApplyCalls, type ApplyEvent } from './serve-apply.ts';

const { owner, options } = ownerOfThread<Request<ApplyCalls>, Reply<ApplyEvent>>();
const { path, ...opening } = options as Opening & { path: string };
const host = hostTime();
const beganMs = host.sinceBootMs();
const now = (): number => opening.nowMs + host.sinceBootMs() - beganMs;
serveApply(owner, () => openOwnMirror(path, { ...opening, now }));
