/** Keeps the last heartbeat of each host of the stream, since this host started. All instants: epoch ms, own clock. */
import type { HeartbeatMessage } from './heartbeats.ts';

interface HeardHost {
  readonly atMs: number;
  readonly backlogMs: number;
}

/** With a second each for the report and for the mirror's decision, no reader trusts older values for more than 10 s. */
const SILENT_MS = 7_000;

export class HeardHosts {
  readonly #hosts = new Map<string, HeardHost>();
  #lastAtMs: number;

  /** @param startedAtMs no heartbeat can be heard before. */
  constructor(startedAtMs: number) {
    this.#lastAtMs = startedAtMs;
  }

  heard(hostId: string, { backlog_ms: backlogMs }: HeartbeatMessage, atMs: number): void {
    this.#lastAtMs = atMs;
    this.#hosts.set(hostId, { atMs, backlogMs });
  }

  /** No host was heard since then; null if one was heard lately. */
  silentSinceMs(nowMs: number): number | null {
    return nowMs - this.#lastAtMs >= SILENT_MS ? this.#lastAtMs : null;
  }

  /** When the oldest rows arrived that wait at each host that was heard lately. */
  backlogsSinceMs(nowMs: number): number[] {
    return [...this.#hosts.values()]
      .filter(({ atMs, backlogMs }) => backlogMs > 0 && nowMs - atMs < SILENT_MS)
      .map(({ atMs, backlogMs }) => atMs - backlogMs);
  }
}
