/** What the heartbeats of the stream's hosts have shown since this host started. */
import type { HeartbeatMessage } from './heartbeats.ts';

interface Heard {
  /** Epoch ms, own clock, like all instants here. */
  readonly atMs: number;
  readonly backlogMs: number;
  readonly accepted: number;
  /** A proof counts once the messages up to this one are here: they say what may have been missed. null: no proof. */
  readonly provenFromSeq: number | null;
}

/** With a second each for the report and for the mirror's decision, no reader trusts older values for more than 10 s. */
const SILENT_MS = 7_000;

export class HeardHosts {
  readonly #ownId: string;
  readonly #hosts = new Map<string, Heard>();
  #lastAtMs: number;
  #acceptedAtMs: number | null = null;

  /** @param startedAtMs no heartbeat can be heard before. */
  constructor(ownId: string, startedAtMs: number) {
    this.#ownId = ownId;
    this.#lastAtMs = startedAtMs;
  }

  /** When another host last showed that it had accepted a webhook of the store; null if none did. */
  get acceptedAtMs(): number | null {
    return this.#acceptedAtMs;
  }

  heard(hostId: string, heartbeat: HeartbeatMessage, atMs: number): void {
    const { backlog_ms: backlogMs, stream_seq: streamSeq, accepted } = heartbeat;
    const before = this.#hosts.get(hostId);
    const isProven = heartbeat.is_proven && !heartbeat.is_closed;
    const provenFromSeq = isProven ? Math.min(streamSeq, before?.provenFromSeq ?? Infinity) : null;
    this.#lastAtMs = atMs;
    this.#hosts.set(hostId, { atMs, backlogMs, accepted, provenFromSeq });
    if (before === undefined || hostId === this.#ownId) return;
    // A new run of that host counts from 0.
    const counted = accepted < before.accepted ? 0 : before.accepted;
    if (accepted > counted) this.#acceptedAtMs = atMs;
  }

  /** No host was heard since then; null if one was heard lately. */
  silentSinceMs(nowMs: number): number | null {
    return nowMs - this.#lastAtMs >= SILENT_MS ? this.#lastAtMs : null;
  }

  /** When the oldest rows arrived that wait at each host. */
  backlogsSinceMs(nowMs: number): number[] {
    return this.#present(nowMs)
      .filter(({ backlogMs }) => backlogMs > 0)
      .map(({ atMs, backlogMs }) => atMs - backlogMs);
  }

  /** Whether a host that listens has a proof. @param readSeq the messages up to this one are here. */
  isProven(nowMs: number, readSeq: number): boolean {
    return this.#present(nowMs).some(
      ({ provenFromSeq }) => provenFromSeq !== null && provenFromSeq <= readSeq,
    );
  }

  #present(nowMs: number): Heard[] {
    return [...this.#hosts.values()].filter(({ atMs }) => nowMs - atMs < SILENT_MS);
  }
}
