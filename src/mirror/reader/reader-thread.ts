/** The reader's thread: see read-loop.ts. */
import { openReaderOfBoth } from '../../event-log/open-both.ts';
import { serveReader, type ToReader } from './read-loop.ts';
import { ownerOfThread } from '../../platform/thread.ts';
import type { Outcome } from '../../sqlite/outcome.ts';

const { owner, path } = ownerOfThread<ToReader, Outcome>();
serveReader(owner, () => openReaderOfBoth(path));
