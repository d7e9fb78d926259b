/** Opens the store with its three threads: writer, reader, checkpoints. */
import { startCheckpointer } from './checkpoint-client.ts';
import type { CheckpointNews } from './checkpoint-thread.ts';
import { ReaderClient } from './reader-client.ts';
import type { Store } from './store.ts';
import { WriterClient } from './writer-client.ts';

export interface StoreEvents {
  /** A thread ended on its own: the process must end too, and be started again. */
  readonly onDeath: (error: Error) => void;
  readonly onCheckpointNews: (news: CheckpointNews) => void;
}

/** @throws StoreError when the database is in use, not a database, too new, or out of reach. */
export async function openStore(path: string, events: StoreEvents): Promise<Store> {
  const writer = await WriterClient.open(path, events.onDeath);
  const reader = new ReaderClient(path, events.onDeath);
  const checkpointer = startCheckpointer(path, events.onCheckpointNews, events.onDeath);
  const close = async (): Promise<void> => {
    await reader.close();
    await checkpointer.stop();
    // Last: the closing connection is then the only one, and leaves one tidy file behind.
    await writer.close();
  };
  let closed: Promise<void> | null = null;
  return { writer, reader, close: () => (closed ??= close()) };
}
