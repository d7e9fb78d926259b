/**
 * Keeps what the heartbeats of the receivers prove: until when everything that they received is here, and which of them have
 * vanished. All instants: epoch ms, own clock.
 */
import type { HeartbeatMessage } from './heartbeat.ts';

interface Host {
  knownSinceMs: number;
  /** When it was heard last, or became known. */
  heardAtMs: number;
  /** Everything that it had received until then is here; null: not known since this host knows it. */
  sureAtMs: number | null;
  /** Oldest first: once this number of the stream is reached, everything that the host had received until then is here. */
  claims: readonly Claim[];
}

interface Claim {
  readonly streamSeq: number;
  readonly untilMs: number;
}

/** With a second each for the report and for the mirror's decision, no reader trusts older values for more than 10 s. */
export const SILENT_MS = 7_000;
/** Heartbeats come once a second. Three missing in a row are a pause, not chance. */
const PAUSE_MS = 3_000;
/** Between two looks at the clock, of one a second. */
const STANDSTILL_MS = 2_000;
/** After a standstill, what was sent during it arrives first. */
const DEAF_MS = 1_000;
/** One a second; further ones replace the latest. */
const MOST_CLAIMS = 10;

export class Hosts {
  readonly #hosts = new Map<string, Host>();
  readonly #startedAtMs: number;
  #lookedAtMs: number;
  #deafUntilMs = Number.NEGATIVE_INFINITY;
  #lastAtMs: number;
  /** Heartbeats have been heard without a pause since then. */
  #audibleSinceMs: number;
  /** The last silence of all hosts. Those that started in it, unknown here, have time to be heard until it counts no more. */
  #silence = { sinceMs: Number.NEGATIVE_INFINITY, countsUntilMs: Number.NEGATIVE_INFINITY };
  /** All messages up to this one are here. */
  #streamSeq: number;
  #areAllKnown = false;
  #haveAllArrived = false;

  /** @param startedAtMs no heartbeat can be heard before. @param streamSeq Infinity for a host that reads no messages. */
  constructor(startedAtMs: number, streamSeq: number) {
    this.#startedAtMs = startedAtMs;
    this.#streamSeq = streamSeq;
    this.#lookedAtMs = startedAtMs;
    this.#lastAtMs = startedAtMs;
    this.#audibleSinceMs = startedAtMs;
  }

  /** Call it each second: a longer pause is a standstill of this process. */
  look(nowMs: number): void {
    if (nowMs < this.#lookedAtMs) this.#stepBack(nowMs);
    if (nowMs - this.#lookedAtMs > STANDSTILL_MS) this.#deafUntilMs = nowMs + DEAF_MS;
    this.#lookedAtMs = nowMs;
  }

  /** The clock was ahead: instants that are now in the future would never be long ago. */
  #stepBack(nowMs: number): void {
    this.#lastAtMs = Math.min(this.#lastAtMs, nowMs);
    this.#audibleSinceMs = nowMs;
    this.#deafUntilMs = nowMs + DEAF_MS;
    this.#silence = {
      sinceMs: nowMs,
      countsUntilMs: Math.min(this.#silence.countsUntilMs, nowMs + SILENT_MS),
    };
    for (const host of this.#hosts.values()) {
      host.knownSinceMs = Math.min(host.knownSinceMs, nowMs);
      host.heardAtMs = Math.min(host.heardAtMs, nowMs);
      if (host.sureAtMs !== null) host.sureAtMs = Math.min(host.sureAtMs, nowMs);
      host.claims = host.claims.map(({ streamSeq, untilMs }) => ({
        streamSeq,
        untilMs: untilMs === Infinity ? untilMs : Math.min(untilMs, nowMs),
      }));
    }
  }

  /** The hosts that have not left, as the stream has them at the start of this one. */
  expect(hostIds: readonly string[], nowMs: number): void {
    for (const hostId of hostIds) if (!this.#hosts.has(hostId)) this.#hosts.set(hostId, newHost(nowMs));
    this.#areAllKnown = true;
  }

  heard(hostId: string, heartbeat: HeartbeatMessage, nowMs: number): void {
    this.look(nowMs);
    if (heartbeat.is_gone) {
      this.left(hostId, heartbeat.stream_seq);
      return;
    }
    if (nowMs < this.#deafUntilMs) return;
    if (nowMs - this.#lastAtMs >= PAUSE_MS) this.#audibleSinceMs = nowMs;
    const silentSinceMs = this.silentSinceMs(nowMs);
    if (silentSinceMs !== null) {
      const sinceMs = nowMs < this.#silence.countsUntilMs ? this.#silence.sinceMs : silentSinceMs;
      this.#silence = { sinceMs, countsUntilMs: nowMs + SILENT_MS };
    }
    this.#lastAtMs = nowMs;
    const host = this.#hosts.get(hostId) ?? newHost(nowMs);
    this.#hosts.set(hostId, host);
    host.heardAtMs = nowMs;
    this.#claim(hostId, host, {
      streamSeq: heartbeat.stream_seq,
      untilMs: nowMs - heartbeat.backlog_ms,
    });
  }

  /** Everything that the host received is in the stream up to this number, or mirrors read it. */
  left(hostId: string, streamSeq: number): void {
    const host = this.#hosts.get(hostId);
    if (host !== undefined) this.#claim(hostId, host, { streamSeq, untilMs: Infinity });
  }

  /** All messages up to this one are in the inbox. @param isNewLog numbers before mean nothing any more. */
  reached(streamSeq: number, isNewLog: boolean): void {
    this.#streamSeq = streamSeq;
    for (const [hostId, host] of this.#hosts) {
      if (isNewLog) host.claims = [];
      this.#settle(hostId, host);
    }
  }

  /** No host was heard since then; null if one was heard lately. */
  silentSinceMs(nowMs: number): number | null {
    return nowMs - this.#lastAtMs >= SILENT_MS ? this.#lastAtMs : null;
  }

  /** Everything that any host had received until then is here; Infinity if none is known. */
  sureUntilMs(nowMs: number): number {
    return Math.min(
      ...[...this.#hosts.values()].map(({ sureAtMs, knownSinceMs }) => sureAtMs ?? knownSinceMs),
      nowMs < this.#silence.countsUntilMs ? this.#silence.sinceMs : Infinity,
    );
  }

  /** Everything is here that any host had received when this one started. */
  get haveAllArrived(): boolean {
    const hosts = [...this.#hosts.values()];
    this.#haveAllArrived ||=
      this.#areAllKnown &&
      hosts.length > 0 &&
      hosts.every(({ sureAtMs }) => sureAtMs !== null && sureAtMs > this.#startedAtMs);
    return this.#haveAllArrived;
  }

  /** Those that were heard lately, or may be heard soon. */
  get present(): string[] {
    return [...this.#hosts.keys()].filter((hostId) => this.#silenceMs(hostId) < SILENT_MS);
  }

  /** Those that were not heard for so long, while others were. */
  silentFor(ms: number): string[] {
    return [...this.#hosts.keys()].filter((hostId) => this.#silenceMs(hostId) >= ms);
  }

  /** Time in which no host is heard at all is no silence of a single one: this host may be cut off. */
  #silenceMs(hostId: string): number {
    const heardAtMs = this.#hosts.get(hostId)?.heardAtMs ?? 0;
    return this.#lastAtMs - Math.max(heardAtMs, this.#audibleSinceMs);
  }

  #claim(hostId: string, host: Host, claim: Claim): void {
    const last = host.claims.at(-1);
    // A lower number is one of a log that was created again.
    const before = last !== undefined && claim.streamSeq < last.streamSeq ? [] : host.claims;
    host.claims = [...before.slice(0, MOST_CLAIMS - 1), claim];
    this.#settle(hostId, host);
  }

  #settle(hostId: string, host: Host): void {
    const met = host.claims.filter(({ streamSeq }) => streamSeq <= this.#streamSeq);
    host.claims = host.claims.slice(met.length);
    const untilMs = met.at(-1)?.untilMs;
    if (untilMs === Infinity) this.#hosts.delete(hostId);
    else if (untilMs !== undefined) host.sureAtMs = Math.max(host.sureAtMs ?? 0, untilMs);
  }
}

const newHost = (nowMs: number): Host => ({
  knownSinceMs: nowMs,
  heardAtMs: nowMs,
  sureAtMs: null,
  claims: [],
});
