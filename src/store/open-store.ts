/** Opens the database with its three threads: writer, reader, checkpoints. */
import { startCheckpointer } from './checkpoint-client.ts';
import type { CheckpointNews, FromCheckpointer } from './checkpoint-thread.ts';
import { watchCommits, type CommitReport } from './commit-watch.ts';
import type { HistoryNews } from './epoch.ts';
import type { ToReader } from './read-loop.ts';
import { ReaderClient } from './reader-client.ts';
import type { Store } from './store.ts';
import { startThread, type Thread } from './thread.ts';
import type { FromWriter, Outcome, ToWriter } from './write-loop.ts';
import { WriterClient } from './writer-client.ts';

export interface StoreEvents {
  /** A thread ended by itself: the process must end too, and be started again. */
  readonly onDeath: (error: Error) => void;
  readonly onCheckpointNews: (news: CheckpointNews) => void;
  readonly onHistoryNews: (news: HistoryNews) => void;
  /** Called for every transaction of the writer. */
  readonly onCommit?: ((report: CommitReport) => void) | undefined;
}

/** How each thread of the database is started, on the file at `path`. */
export interface StoreThreads {
  writer(path: string): Thread<ToWriter, FromWriter>;
  reader(path: string): Thread<ToReader, Outcome>;
  checkpointer(path: string): Thread<'stop', FromCheckpointer>;
}

const REAL_THREADS: StoreThreads = {
  // Several times what a batch of deliveries takes: values that survive a collection cost more.
  writer: (path) => startThread('writer-thread', path, 24),
  reader: (path) => startThread('reader-thread', path, 6),
  checkpointer: (path) => startThread('checkpoint-thread', path, 3),
};

/** The writer's thread is started at once, and the others when they are asked for. To be given to `openStore`. */
export function startWriterAhead(path: string): StoreThreads {
  const writer = REAL_THREADS.writer(path);
  return { ...REAL_THREADS, writer: () => writer };
}

/** @throws StoreError when the database is in use, not a database, too new, or out of reach. */
export async function openStore(
  path: string,
  events: StoreEvents,
  threads: StoreThreads = REAL_THREADS,
): Promise<Store> {
  const { onCommit } = events;
  const thread = threads.writer(path);
  const writer = await WriterClient.open(
    onCommit === undefined ? thread : watchCommits(thread, onCommit),
    events,
  );
  const reader = new ReaderClient(threads.reader(path), events.onDeath);
  const checkpointer = startCheckpointer(
    threads.checkpointer(path),
    (keepBytes) => writer.restartLog(keepBytes),
    events.onCheckpointNews,
    events.onDeath,
  );
  const close = async (): Promise<void> => {
    await reader.close();
    await checkpointer.stop();
    // Last: the closing connection is then the only one, and leaves one tidy file behind.
    await writer.close();
  };
  let closed: Promise<void> | null = null;
  return { writer, reader, life: writer.life, close: () => (closed ??= close()) };
}
