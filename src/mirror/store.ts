import { InboxClient, type InboxEvents, type InboxThread } from '../inbox/inbox-client.ts';
import { startThread } from '../platform/thread.ts';
import {
  Mirror,
  type MirrorEvents,
  type MirrorThreads,
  type StoreReader,
  type StoreWriter,
} from './mirror.ts';

export interface StoreThreads extends MirrorThreads {
  inbox(): InboxThread;
}

export type StoreEvents = MirrorEvents & InboxEvents;

export interface Store {
  readonly inbox: InboxClient;
  readonly mirror: Mirror;
  readonly reader: StoreReader;
  readonly writer: StoreWriter;
  close(): Promise<void>;
}

/** Starts the inbox thread at once: answers need nothing else. */
export function realThreads(path: string): StoreThreads {
  const inbox = startThread('inbox/inbox-thread', { path });
  return {
    inbox: () => inbox as InboxThread,
    apply: (options) => startThread('mirror/writer/apply-thread', { path, ...options }),
    query: () => startThread('mirror/reader/query-thread', { path }),
  };
}

/** Resolves once deliveries can be stored; the mirror opens meanwhile. @throws StoreError if the inbox is unusable. */
export async function openStore(threads: StoreThreads, events: StoreEvents): Promise<Store> {
  const inbox = await InboxClient.open(threads.inbox(), {
    onDeath: events.onDeath,
    onCommit: (commit) => {
      events.onCommit(commit);
      mirror.arrived();
    },
  });
  const mirror: Mirror = new Mirror(threads, {
    ...events,
    onOpened: (newEpoch) => {
      if (newEpoch !== null) {
        // If this fails, the next start notes it.
        inbox.beginEpoch(newEpoch.epoch, newEpoch.changeSeq).catch(() => undefined);
      }
      mirror.arrived();
      events.onOpened(newEpoch);
    },
  });
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
