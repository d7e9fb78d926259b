/** The projection's thread: see apply-loop.ts. */
import { serveProjection, type FromProjection, type ToProjection } from './apply-loop.ts';
import { yieldToOthers } from './low-priority.ts';
import { openOwnMirror } from './own-mirror.ts';
import { ownerOfThread, pauseThread } from '../../platform/thread.ts';

yieldToOthers();
const { owner, path } = ownerOfThread<ToProjection, FromProjection>();
serveProjection(owner, (options) => openOwnMirror(path, options), pauseThread);
