/** The mirror's databases, as the main thread uses them. */
import { InboxView } from '../inbox/inbox-view.ts';
import { openInboxReader } from '../inbox/inbox-file.ts';
import { hostTime } from '../platform/host-time.ts';
import { startThread } from '../platform/thread.ts';
import type { Db } from '../sqlite/open.ts';
import {
  Mirror,
  type MirrorEvents,
  type MirrorFiles,
  type MirrorReader,
  type MirrorWriter,
} from './mirror.ts';
import { openForQueries } from './reader/open-for-queries.ts';

export interface DatabaseFiles extends MirrorFiles {
  openInbox(): Db;
}

export interface Databases {
  readonly inbox: InboxView;
  readonly mirror: Mirror;
  readonly reader: MirrorReader;
  readonly writer: MirrorWriter;
  close(): Promise<void>;
}

export function realFiles(path: string): DatabaseFiles {
  const { sinceBootMs } = hostTime();
  return {
    apply: (opening) =>
      startThread('mirror/writer/apply-thread', { path, ...opening, sinceBootMs: sinceBootMs() }),
    openReader: () => openForQueries(path),
    openInbox: () => openInboxReader(path),
  };
}

/** Returns at once; the mirror opens meanwhile. @param now the own clock, epoch ms. */
export function openDatabases(files: DatabaseFiles, events: MirrorEvents, now: () => number): Databases {
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
