/** Inbox and mirror with their threads. */
import { InboxClient, type InboxThread } from '../inbox/inbox-client.ts';
import type { InboxCommit } from '../inbox/serve-inbox.ts';
import { startThread } from '../platform/thread.ts';
import type { StoreError } from '../sqlite/errors.ts';
import {
  Mirror,
  type MirrorEvents,
  type MirrorThreads,
  type StoreReader,
  type StoreWriter,
} from './mirror.ts';
import type { NewEpoch } from './start.ts';

export interface StoreThreads extends MirrorThreads {
  inbox(): InboxThread;
}

export interface StoreEvents extends Omit<MirrorEvents, 'onOpened'> {
  /** The inbox failed: the process must end. */
  readonly onDeath: (error: StoreError) => void;
  /** After each transaction of the inbox. */
  readonly onCommit: (commit: InboxCommit) => void;
  /** The mirror is open, for the first time or again. */
  readonly onOpened: (newEpoch: NewEpoch | null) => void;
}

export interface Store {
  readonly inbox: InboxClient;
  readonly mirror: Mirror;
  readonly reader: StoreReader;
  readonly writer: StoreWriter;
  /** Closes the mirror, then the inbox, which holds the lock of both. */
  close(): Promise<void>;
}

/** @param path of the mirror. The inbox thread is started at once: answers need nothing else. */
export function realThreads(path: string): StoreThreads {
  const inbox = startThread('inbox/inbox-thread', { path });
  return {
    inbox: () => inbox as InboxThread,
    apply: (options) => startThread('mirror/writer/apply-thread', { path, ...options }),
    query: () => startThread('mirror/reader/query-thread', { path }),
  };
}

/**
 * Resolves once deliveries can be kept; the mirror is opened meanwhile.
 *
 * @param now the process's clock, once there is one: it starts from the inbox's heartbeat.
 * @throws StoreError when the inbox is in use, another program's, or out of reach.
 */
export async function openStore(
  threads: StoreThreads,
  events: StoreEvents,
  now: () => number,
): Promise<Store> {
  const inbox = await InboxClient.open(threads.inbox(), {
    onDeath: events.onDeath,
    onCommit: (commit) => {
      events.onCommit(commit);
      mirror.arrived();
    },
  });
  const mirror: Mirror = new Mirror(
    threads,
    {
      ...events,
      onOpened: (newEpoch) => {
        if (newEpoch !== null) {
          // Until it is noted, a start would begin another one.
          inbox.beginEpoch(newEpoch.epoch, newEpoch.changeSeq).catch(() => undefined);
        }
        // Rows that came while it was closed.
        mirror.arrived();
        events.onOpened(newEpoch);
      },
    },
    now,
  );
  mirror.open(inbox.lastSeq);
  return {
    inbox,
    mirror,
    reader: mirror,
    writer: mirror,
    close: async () => {
      await mirror.close();
      await inbox.close();
    },
  };
}
