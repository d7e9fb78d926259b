/** The reader's thread: see read-loop.ts. */
import { openReader } from './open.ts';
import { serveReader, type ToReader } from './read-loop.ts';
import { ownerOfThread } from './thread.ts';
import type { Outcome } from './write-loop.ts';

const { owner, path } = ownerOfThread<ToReader, Outcome>();
serveReader(owner, openReader(path));
