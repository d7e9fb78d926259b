/**
 * The heartbeat: written every second, it shows until when the mirror listened. That it can be written shows that a
 * delivery could be committed now, which is what `/healthz` answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Heartbeat {
  /** Starts the heartbeat. It overwrites the proof of a downtime, which must have been read before. */
  begin(): void;
  /** Whether the latest heartbeat is on disk. Before the first, callers wait for it. */
  check(): Promise<boolean>;
  /** Writes a last heartbeat, if there was a first. */
  stop(): Promise<void>;
}

/** Where the heartbeat is written. */
interface HeartbeatTarget {
  /** Resolves once it is on disk: a delivery could be kept now. */
  beat(atMs: number): Promise<unknown>;
  /** For those who read the mirror, which says that it is behind by being late with it. */
  show(atMs: number): Promise<unknown>;
}

const EVERY_MS = 1_000;
const CHECK_DEADLINE_MS = 700;

/** @param wallNow the host's clock, epoch ms: readers compare the heartbeat with it. */
export function createHeartbeat(target: HeartbeatTarget, wallNow: () => number): Heartbeat {
  const first = Promise.withResolvers<boolean>();
  let latest = first.promise;
  let timer: NodeJS.Timeout | null = null;
  let isBeating = false;
  let showing: Promise<boolean> | null = null;
  /** One at a time: while commits hang, heartbeats must not pile up. */
  const beat = (): Promise<boolean> => {
    if (isBeating) return latest;
    isBeating = true;
    const atMs = wallNow();
    latest = isDone(target.beat(atMs)).finally(() => (isBeating = false));
    showing ??= isDone(target.show(atMs)).finally(() => (showing = null));
    return latest;
  };
  return {
    begin(): void {
      timer = setInterval(() => void beat(), EVERY_MS).unref();
      first.resolve(beat());
    },
    check: () => Promise.race([latest, sleep(CHECK_DEADLINE_MS, false, { ref: false })]),
    async stop(): Promise<void> {
      if (timer === null) return;
      clearInterval(timer);
      await latest;
      // One that is still being shown would be taken for the last.
      await showing;
      await beat();
      await showing;
    },
  };
}

function isDone(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
