/** Written every second: shows until when the mirror listened, and whether a delivery could be committed now. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimitedLog, type Logger } from '../platform/log.ts';

export interface Heartbeat {
  /** Overwrites the evidence of a downtime, which must have been read before. */
  begin(): void;
  /** Whether the latest heartbeat is on disk. Waits for the first one. */
  check(): Promise<boolean>;
  /** Writes a last heartbeat, if there was a first. */
  stop(): Promise<void>;
}

interface HeartbeatTarget {
  /** @param isLast the port is closed, and nothing is received any more. */
  beat(atMs: number, isLast: boolean): Promise<unknown>;
  /** Writes it to the mirror for its readers; it is late if the mirror is behind. */
  show(atMs: number): Promise<unknown>;
}

const EVERY_MS = 1_000;
const CHECK_DEADLINE_MS = 700;

interface HeartbeatDeps {
  readonly target: HeartbeatTarget;
  /** The host's clock, epoch ms: readers compare the heartbeat with it. */
  readonly wallNow: () => number;
  readonly log: Logger;
}

export function createHeartbeat({ target, wallNow, log }: HeartbeatDeps): Heartbeat {
  const warn = createLimitedLog((fields) =>
    log.error(
      fields,
      'heartbeats could not be written: /healthz answers 503 until one is; webhooks that can be stored are still answered 204',
    ),
  );
  const first = Promise.withResolvers<boolean>();
  let latest = first.promise;
  let timer: NodeJS.Timeout | null = null;
  let isBeating = false;
  let showing: Promise<boolean> | null = null;
  /** One at a time: heartbeats must not pile up while commits hang. */
  const beat = (isLast = false): Promise<boolean> => {
    if (isBeating) return latest;
    isBeating = true;
    const atMs = wallNow();
    const written = target.beat(atMs, isLast);
    written.catch((error: unknown) => warn('failures', { err: error }));
    latest = isDone(written).finally(() => (isBeating = false));
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
      // Otherwise an earlier one could be shown last.
      await showing;
      await beat(true);
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
