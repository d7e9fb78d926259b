/**
 * The heartbeat: written every second, it shows until when the mirror listened. That it can be written shows that a
 * delivery could be committed now, which is what `/healthz` answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Heartbeat {
  /** Starts the heartbeat. It overwrites the proof of a downtime, which must have been read before. */
  begin(): void;
  /**
   * Whether a delivery could be committed now: a commit is tried, at most once in a while for all callers. Before
   * the heartbeat has started, callers wait for it.
   */
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
const CHECK_VALID_MS = 250;

/** @param wallNow the host's clock, epoch ms: readers compare the heartbeat with it. */
export function createHeartbeat(target: HeartbeatTarget, wallNow: () => number): Heartbeat {
  const begun = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | null = null;
  let checked: { readonly atMs: number; readonly result: Promise<boolean> } | null = null;
  let underWay: Promise<boolean> | null = null;
  let isShowing: Promise<boolean> | null = null;
  const stamp = (): Promise<boolean> => {
    const atMs = wallNow();
    const kept = target.beat(atMs);
    isShowing ??= isDone(target.show(atMs)).finally(() => (isShowing = null));
    return isDone(kept);
  };
  /** One at a time: while commits hang, heartbeats must not pile up. */
  const beat = (): Promise<boolean> =>
    (underWay ??= begun.promise.then(stamp).finally(() => {
      underWay = null;
    }));
  return {
    begin(): void {
      if (timer !== null) return;
      timer = setInterval(() => void beat(), EVERY_MS).unref();
      begun.resolve();
    },
    check(): Promise<boolean> {
      const nowMs = performance.now();
      if (checked === null || nowMs - checked.atMs > CHECK_VALID_MS) {
        const late = sleep(CHECK_DEADLINE_MS, false, { ref: false });
        checked = { atMs: nowMs, result: Promise.race([beat(), late]) };
      }
      return checked.result;
    },
    async stop(): Promise<void> {
      if (timer === null) return;
      clearInterval(timer);
      await underWay;
      // One that is still being shown would be taken for the last.
      await isShowing;
      await stamp();
      await isShowing;
    },
  };
}

function isDone(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
