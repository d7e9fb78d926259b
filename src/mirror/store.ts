/** The mirror's databases, as the main thread uses them. */
import { InboxView } from '../inbox/inbox-view.ts';
import { openInboxReader } from '../inbox/inbox-file.ts';
import { startThread } from '../platform/thread.ts';
import type { Db } from '../sqlite/open.ts';
import {
  Mirror,
  type MirrorEvents,
  type MirrorThreads,
  type StoreReader,
  type StoreWriter,
} from './mirror.ts';

export interface StoreFiles extends MirrorThreads {
  openInbox(): Db;
}

export interface Store {
  readonly inbox: InboxView;
  readonly mirror: Mirror;
  readonly reader: StoreReader;
  readonly writer: StoreWriter;
  close(): Promise<void>;
}

export function realFiles(path: string): StoreFiles {
  return {
    apply: (options) => startThread('mirror/writer/apply-thread', { path, ...options }),
    query: () => startThread('mirror/reader/query-thread', { path }),
    openInbox: () => openInboxReader(path),
  };
}

/** Returns at once; the mirror opens meanwhile. @param now the own clock, epoch ms. */
export function openStore(files: StoreFiles, events: MirrorEvents, now: () => number): Store {
  const inbox = new InboxView(() => files.openInbox());
  const mirror = new Mirror(
    files,
    {
      ...events,
      onOpened: (newEpoch) => {
        mirror.arrived();
        events.onOpened(newEpoch);
      },
    },
    now,
  );
  mirror.open();
  return {
    inbox,
    mirror,
    reader: mirror,
    writer: mirror,
    close: async () => {
      await mirror.close();
      inbox.close();
    },
  };
}
