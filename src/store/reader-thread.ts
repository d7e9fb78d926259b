/** The reader's thread: see read-loop.ts. */
import { openReaderOfBoth } from './open.ts';
import { serveReader, type ToReader } from './read-loop.ts';
import { ownerOfThread } from './thread.ts';
import type { Outcome } from './outcome.ts';

const { owner, path } = ownerOfThread<ToReader, Outcome>();
serveReader(owner, () => openReaderOfBoth(path));
