/** Opens the mirror with its threads: event log, projection, reader. */
import type { FromProjection, ToProjection } from './apply-loop.ts';
import { watchCommits, type CommitReport } from './commit-watch.ts';
import type { FromLog, ToLog } from './event-log/append-loop.ts';
import { LogClient } from './event-log/log-client.ts';
import { MirrorWriter } from './mirror-writer.ts';
import type { Outcome } from './outcome.ts';
import { ProjectionClient, type ApplyNews } from './projection-client.ts';
import type { ToReader } from './read-loop.ts';
import { ReaderClient } from './reader-client.ts';
import type { Store, StoreReader } from './store.ts';
import { startThread, type Thread } from './thread.ts';
import type { StoreNews } from './upkeep.ts';

export interface StoreEvents {
  /** A thread ended by itself: the process must end too, and be started again. */
  readonly onDeath: (error: Error) => void;
  readonly onNews: (news: StoreNews) => void;
  readonly onApplyNews?: ((news: ApplyNews) => void) | undefined;
  /** Called for every transaction of the event log. */
  readonly onCommit?: ((report: CommitReport) => void) | undefined;
}

/** How each thread is started, for the mirror's file at `path`. */
export interface StoreThreads {
  log(path: string): Thread<ToLog, FromLog>;
  projection(path: string): Thread<ToProjection, FromProjection>;
  reader(path: string): Thread<ToReader, Outcome>;
}

const REAL_THREADS: StoreThreads = {
  // Several times what a batch of deliveries takes: values that survive a collection cost more.
  log: (path) => startThread('event-log/log-thread', path, 6),
  projection: (path) => startThread('projection-thread', path, 24),
  reader: (path) => startThread('reader-thread', path, 6),
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
  const { onCommit, onDeath, onNews } = events;
  const logThread = threads.log(path);
  const onApplyNews = events.onApplyNews ?? (() => undefined);
  const projection = new ProjectionClient(threads.projection(path), { onDeath, onNews, onApplyNews });
  const log = await LogClient.open(onCommit === undefined ? logThread : watchCommits(logThread, onCommit), {
    onDeath,
    onNews,
    onAppended: (lastSeq) => projection.apply(lastSeq),
  }).catch(async (error: unknown) => {
    await projection.abandon();
    throw error;
  });
  projection.open(log.lastSeq);
  const reader = new ReaderClient(threads.reader(path), onDeath);
  const { opened } = projection;
  const close = async (): Promise<void> => {
    await reader.close();
    await projection.close();
    // Last: the projection reads from it, and it holds the lock of both.
    await log.close();
  };
  let closed: Promise<void> | null = null;
  const asked: StoreReader = { ask: (name, ...args) => opened.then(() => reader.ask(name, ...args)) };
  return {
    writer: new MirrorWriter(log, projection, asked),
    reader: asked,
    life: log.life,
    opened,
    leave: () => projection.leave(),
    close: () => (closed ??= close()),
  };
}
