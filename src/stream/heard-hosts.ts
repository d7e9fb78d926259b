/** Keeps the last heartbeat of each host of the stream, since this host started. All instants: epoch ms, own clock. */
import type { RefusedWebhooks } from '../inbox/report.ts';
import type { HeartbeatMessage } from './heartbeats.ts';

interface HeardHost {
  readonly atMs: number;
  readonly backlogMs: number;
  readonly isClosed: boolean;
  /** null before the first that counts. */
  readonly wayIn: HeardWayIn | null;
  /** Counts once the messages before it are here: they say what may have been missed. null: none waits. */
  readonly waiting: HeardWayIn | null;
}

interface HeardWayIn {
  readonly atMs: number;
  /** The last message before it. */
  readonly streamSeq: number;
  readonly isProven: boolean;
  readonly accepted: number;
  readonly refused: readonly RefusedWebhooks[];
}

/** With a second each for the report and for the mirror's decision, no reader trusts older values for more than 10 s. */
const SILENT_MS = 7_000;

export class HeardHosts {
  readonly #ownId: string;
  readonly #hosts = new Map<string, HeardHost>();
  #lastAtMs: number;
  #acceptedAtMs: number | null = null;
  #acceptedCount = 0;

  /** @param startedAtMs no heartbeat can be heard before. */
  constructor(ownId: string, startedAtMs: number) {
    this.#ownId = ownId;
    this.#lastAtMs = startedAtMs;
  }

  heard(hostId: string, heartbeat: HeartbeatMessage, atMs: number): void {
    const before = this.#hosts.get(hostId);
    const { backlog_ms: backlogMs, is_closed: isClosed, stream_seq: streamSeq } = heartbeat;
    const waiting = before?.waiting ?? null;
    this.#lastAtMs = atMs;
    this.#hosts.set(hostId, {
      atMs,
      backlogMs,
      isClosed,
      wayIn: before?.wayIn ?? null,
      // A lower number is that of a stream that was created again.
      waiting: waiting === null || streamSeq < waiting.streamSeq ? wayInOf(heartbeat, atMs) : waiting,
    });
  }

  /** The messages up to this one are here. */
  read(streamSeq: number): void {
    for (const [hostId, host] of this.#hosts) {
      const { waiting, wayIn } = host;
      if (waiting === null || waiting.streamSeq > streamSeq) continue;
      this.#hosts.set(hostId, {
        ...host,
        wayIn: { ...waiting, refused: dated(waiting, wayIn) },
        waiting: null,
      });
      if (hostId === this.#ownId || wayIn === null) continue;
      // A new run of that host counts from 0.
      const counted = waiting.accepted < wayIn.accepted ? 0 : wayIn.accepted;
      if (waiting.accepted === counted) continue;
      this.#acceptedAtMs = waiting.atMs;
      this.#acceptedCount += waiting.accepted - counted;
    }
  }

  /** When another host last showed that it had accepted a webhook of the store; null if none did. */
  get acceptedAtMs(): number | null {
    return this.#acceptedAtMs;
  }

  /** How many webhooks of the store other hosts have accepted since this one's start. */
  get acceptedCount(): number {
    return this.#acceptedCount;
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

  /** Whether a host that listens has a proof of its way in. */
  isProven(nowMs: number): boolean {
    return this.#present(nowMs).some(({ isClosed, wayIn }) => !isClosed && wayIn?.isProven === true);
  }

  /** Webhooks refused by the hosts that were heard within `SILENT_MS`. */
  refused(nowMs: number): RefusedWebhooks[] {
    return this.#present(nowMs).flatMap(({ wayIn }) => wayIn?.refused ?? []);
  }

  #present(nowMs: number): HeardHost[] {
    return [...this.#hosts.values()].filter(({ atMs }) => nowMs - atMs < SILENT_MS);
  }
}

function wayInOf({ stream_seq: streamSeq, way_in: wayIn }: HeartbeatMessage, atMs: number): HeardWayIn {
  const { is_proven: isProven, accepted, refused } = wayIn;
  return {
    atMs,
    streamSeq,
    isProven,
    accepted,
    refused: refused.map(({ variant_ids: variantIds, ...each }) => ({ ...each, variantIds, sinceMs: atMs })),
  };
}

/** Refusals that were heard of before keep the instant. */
function dated({ refused }: HeardWayIn, before: HeardWayIn | null): RefusedWebhooks[] {
  return refused.map((each) => {
    const earlier = before?.refused.find(({ reason }) => reason === each.reason);
    return { ...each, sinceMs: earlier?.sinceMs ?? each.sinceMs };
  });
}
