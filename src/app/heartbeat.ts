/** Once a second, the mirror takes over what the receiver says, and shows its readers that it lives. */
import { reportOf, type InboxView } from '../inbox/inbox-view.ts';
import type { ReceiverRow } from '../inbox/inbox-file.ts';
import type { Logger } from '../platform/log.ts';

interface HeartbeatDeps {
  readonly inbox: Pick<InboxView, 'receiver'>;
  readonly followReceiver: () => void;
  readonly onReceiver: (row: ReceiverRow | null) => void;
  /** Decides the state and writes it with the heartbeat. @throws SqliteFault */
  readonly show: (wallMs: number) => Promise<void>;
  readonly log: Logger;
}

const EVERY_MS = 1_000;

export interface HeartbeatTimer {
  /** Resolves once this heartbeat is in the mirror's file, or cannot be. */
  beat(): Promise<void>;
  stop(): Promise<void>;
}

export function startHeartbeat(deps: HeartbeatDeps): HeartbeatTimer {
  const { inbox, followReceiver, onReceiver, show, log } = deps;
  let showing: Promise<void> | null = null;
  // It is applied after the inbox, so a time that may have been missed is known before readers see the heartbeat.
  const showNow = (): Promise<void> =>
    show(Date.now()).catch((error: unknown) =>
      log.debug({ err: error }, 'the heartbeat could not be written into the mirror’s file'),
    );
  const beat = (): Promise<void> => {
    followReceiver();
    onReceiver(inbox.receiver());
    // One at a time: while the mirror is behind, heartbeats must not pile up.
    return (showing ??= showNow().finally(() => (showing = null)));
  };
  const timer = setInterval(() => void beat(), EVERY_MS);
  timer.unref();
  return {
    beat,
    stop: async () => {
      clearInterval(timer);
      await showing;
      // Until when readers know that the mirror lived.
      await beat();
    },
  };
}

/** Everything that other receivers had published when this host started is in the inbox. */
export function hasCaughtUp(row: ReceiverRow | null): boolean {
  const report = reportOf(row);
  if (report === null) return false;
  const { stream } = report;
  return (
    stream === null || (stream.hasCaughtUp && stream.silentSinceMs === null && stream.backlogSinceMs === null)
  );
}
