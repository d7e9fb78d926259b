/** Opens the mirror with its threads: event log, projection, reader. */
import type { FromProjection, ToProjection } from './writer/apply-loop.ts';
import { watchCommits, type CommitReport } from '../event-log/commit-watch.ts';
import type { FromLog, ToLog } from '../event-log/append-loop.ts';
import { LogClient } from '../event-log/log-client.ts';
import { MirrorThreads } from './mirror-threads.ts';
import { MirrorWriter } from './writer/mirror-writer.ts';
import type { Outcome } from '../sqlite/outcome.ts';
import { ProjectionClient, type ApplyNews } from './writer/projection-client.ts';
import type { NewEpoch } from './writer/own-mirror.ts';
import type { ToReader } from './reader/read-loop.ts';
import { ReaderClient } from './reader/reader-client.ts';
import type { Store } from './store.ts';
import type { StoreReader } from './reader/store-reader.ts';
import { startThread, type Thread } from '../platform/thread.ts';
import type { WalNews } from './writer/upkeep.ts';

export interface StoreEvents {
  /** A thread ended by itself: the process must end too, and be started again. */
  readonly onDeath: (error: Error) => void;
  readonly onNews: (news: WalNews) => void;
  readonly onApplyNews?: ((news: ApplyNews) => void) | undefined;
  readonly onNewEpoch?: ((newEpoch: NewEpoch) => void) | undefined;
  /** Called for every transaction of the event log. */
  readonly onCommit?: ((report: CommitReport) => void) | undefined;
}

/** How each thread is started, for the mirror's file at `path`. */
interface StoreThreads {
  log(path: string): Thread<ToLog, FromLog>;
  projection(path: string): Thread<ToProjection, FromProjection>;
  reader(path: string): Thread<ToReader, Outcome>;
}

const REAL_THREADS: StoreThreads = {
  // Several times what a batch of deliveries takes: values that survive a collection cost more.
  log: (path) => startThread('event-log/log-thread', path, 6),
  projection: (path) => startThread('mirror/writer/projection-thread', path, 24),
  reader: (path) => startThread('mirror/reader/reader-thread', path, 6),
};

/** The threads that an answer needs are started at once, and the others when they are asked for. To be given to `openStore`. */
export function startLogAhead(path: string): StoreThreads {
  const log = REAL_THREADS.log(path);
  return { ...REAL_THREADS, log: () => log };
}

/**
 * Resolves once deliveries can be kept; the mirror is opened meanwhile (`Store.opened`).
 *
 * @throws StoreError when the event log is in use, another program's, too new, or out of reach.
 */
export async function openStore(
  path: string,
  events: StoreEvents,
  threads: StoreThreads = REAL_THREADS,
): Promise<Store> {
  const { onCommit, onDeath, onNews, onNewEpoch = () => undefined } = events;
  const logThread = threads.log(path);
  const projection = new ProjectionClient({ onNews, onApplyNews: events.onApplyNews ?? (() => undefined) });
  const log = await LogClient.open(onCommit === undefined ? logThread : watchCommits(logThread, onCommit), {
    onDeath,
    onAppended: (lastSeq, waiting) => projection.apply(lastSeq, waiting),
  });
  const reader = new ReaderClient();
  const mirror = new MirrorThreads({
    ...{ log, projection, reader },
    startProjection: () => threads.projection(path),
    startReader: () => threads.reader(path),
    onNewEpoch,
  });
  mirror.start();
  const close = async (): Promise<void> => {
    await mirror.close();
    // Last: the projection reads from it, and it holds the lock of both.
    await log.close();
  };
  let closed: Promise<void> | null = null;
  const asked: StoreReader = {
    ask: async (name, ...args) => {
      await mirror.opened.catch(() => undefined);
      if (mirror.down !== null) throw mirror.down;
      return reader.ask(name, ...args);
    },
  };
  return {
    writer: new MirrorWriter(log, projection, asked),
    reader: asked,
    life: log.life,
    opened: mirror.opened,
    leave: () => projection.leave(),
    close: () => (closed ??= close()),
  };
}
