/** The outbox with its thread, and a reader of what it has. */
import type { CommitReport } from '../event-log/commit-watch.ts';
import { watchCommits } from '../event-log/commit-watch.ts';
import { LogClient } from '../event-log/log-client.ts';
import { openLogForReading } from '../event-log/open-log.ts';
import { LogReader } from '../event-log/read-log.ts';
import { startThread } from '../platform/thread.ts';
import type { Db } from '../sqlite/open.ts';

export interface Outbox {
  readonly log: LogClient;
  readonly reader: LogReader;
  /** @param listener called when there is more. */
  onAppended(listener: () => void): void;
  close(): Promise<void>;
}

interface OutboxEvents {
  /** Its thread ended by itself: the process must end too, and be started again. */
  readonly onDeath: (error: Error) => void;
  readonly onCommit: (report: CommitReport) => void;
}

/** @throws StoreError when it is in use, another program's, too new, or out of reach. */
export async function openOutbox(path: string, { onDeath, onCommit }: OutboxEvents): Promise<Outbox> {
  let told = (): void => undefined;
  const log = await LogClient.open(watchCommits(startThread('event-log/outbox-thread', path, 6), onCommit), {
    onDeath,
    onNews: () => undefined,
    onAppended: () => told(),
  });
  let db: Db;
  try {
    db = openLogForReading(path);
  } catch (error) {
    await log.close();
    throw error;
  }
  return {
    log,
    reader: new LogReader(db),
    onAppended: (listener) => (told = listener),
    async close(): Promise<void> {
      db.close();
      await log.close();
    },
  };
}
