/**
 * The engine as it is in itself, in memory and the same for all machines: one stream, a lease, notes, a snapshot. How
 * machines reach it is in network.ts. Whether a history goes on from where a log stands is decided by the program's own
 * rule, which is why places in the stream look as that rule knows them.
 */
import type { CopiedRow } from '../../../src/event-log/copied-row.ts';
import type { After, Base, Cursor, StreamState } from '../../../src/replication/nats/history.ts';
import { LEASE_MS, type Publication } from '../../../src/replication/transport.ts';

interface Message {
  readonly seq: number;
  readonly id: string;
  readonly row: CopiedRow;
  /** Nanoseconds, as text. */
  readonly storedAt: string;
  /** Null: it is no base. */
  readonly after: After | null;
}

export interface Receipt {
  readonly created: string;
  readonly seq: number;
  readonly id: string;
  readonly baseSeq: number;
}

interface Note {
  readonly text: string;
  readonly expiresAtMs: number;
}

interface StoredSnapshot {
  readonly mirror: Uint8Array;
  readonly log: Uint8Array;
}

/** What was published longer ago than this is not known as a duplicate any more. */
const DUPLICATES_KNOWN_MS = 120_000;

export class Broker {
  readonly #now: () => number;
  #lastNanos = 0n;
  #created: string;
  /** Gapless. */
  #messages: Message[] = [];
  /** Numbers go on rising when messages are purged. */
  #lastSeq = 0;
  #base: Base | null = null;
  readonly #known = new Map<string, { readonly seq: number; readonly atMs: number }>();
  #revision = 0;
  #lease: { readonly holder: string; readonly revision: number; readonly expiresAtMs: number } | null = null;
  readonly #presence = new Map<string, Note>();
  readonly #state = new Map<string, string>();
  snapshot: StoredSnapshot | null = null;
  #news = Promise.withResolvers<void>();
  /** Connections of before are broken. */
  connections = 0;
  /** Told when it loses something that it has acknowledged. */
  onLoss: () => void = () => undefined;
  /** Histories begun. */
  histories = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#created = this.#nanos();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get created(): string {
    return this.#created;
  }

  get base(): Base | null {
    return this.#base;
  }

  /** Resolves with the next message. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  stateFor(cursor: Cursor | null): StreamState {
    return {
      created: this.#created,
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
      base: this.#base,
      storedAt: cursor === null ? null : (this.at(cursor.seq)?.storedAt ?? null),
      hasLeader: true,
    };
  }

  at(seq: number): Message | undefined {
    return this.#messages[seq - this.#firstSeq];
  }

  after(seq: number, limit: number): { readonly messages: readonly Message[]; readonly left: number } {
    const from = Math.max(0, seq + 1 - this.#firstSeq);
    const messages = this.#messages.slice(from, from + limit);
    return { messages, left: Math.max(0, this.#messages.length - from - limit) };
  }

  publish({ id, row }: Publication): { readonly receipt: Receipt; readonly isDuplicate: boolean } {
    const history = { created: this.#created, baseSeq: this.#base?.seq ?? 0 };
    const known = this.#known.get(id);
    if (known !== undefined && this.#now() - known.atMs < DUPLICATES_KNOWN_MS) {
      return { receipt: { ...history, seq: known.seq, id }, isDuplicate: true };
    }
    return {
      receipt: { ...history, seq: this.#append(id, row, null).seq, id },
      isDuplicate: false,
    };
  }

  isKept({ created, seq, id, baseSeq }: Receipt): boolean {
    if (created !== this.#created || seq > this.#lastSeq) return false;
    const found = this.at(seq);
    return found === undefined ? baseSeq === (this.#base?.seq ?? 0) : found.id === id;
  }

  /** @param expectedBaseSeq of the last base, as whoever begins has seen it. @returns false when there is a later one. */
  begin(row: CopiedRow, after: After, expectedBaseSeq: number): boolean {
    if ((this.#base?.seq ?? 0) !== expectedBaseSeq) return false;
    const { seq, storedAt } = this.#append(`base-${this.#lastSeq}-${this.#created}`, row, after);
    this.#base = { seq, storedAt, after };
    this.histories += 1;
    return true;
  }

  /** Deliveries of before the base that nobody may have copied come after it, and all before it goes. */
  finish({ seq: first, after }: Base): void {
    for (const { id, row, storedAt, seq } of this.#messages.slice()) {
      const isAgain = seq < first && row.kind === 'delivery' && BigInt(storedAt) >= BigInt(after.againFrom);
      if (isAgain) this.publish({ id: `${id}-${first}`, row });
    }
    this.#messages = this.#messages.filter(({ seq }) => seq >= first);
  }

  /**
   * Its last messages are gone, as after a power cut without syncing. What it knows of duplicates, it then knows from the
   * messages that it has: not from those that were purged. @returns how many are gone.
   */
  loseTail(count: number): number {
    const lost = this.#messages.splice(Math.max(0, this.#messages.length - count));
    const kept = new Set(this.#messages.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!kept.has(id)) this.#known.delete(id);
    this.#lastSeq -= lost.length;
    const base = this.#messages.findLast(({ after }) => after !== null);
    this.#base =
      base === undefined || base.after === null
        ? null
        : { seq: base.seq, storedAt: base.storedAt, after: base.after };
    this.connections += 1;
    if (lost.length > 0) this.onLoss();
    return lost.length;
  }

  /** All of it is gone, and an empty one is in its place. */
  empty(): void {
    this.#messages = [];
    this.#lastSeq = 0;
    this.#created = this.#nanos();
    this.#base = null;
    this.#known.clear();
    this.#lease = null;
    this.#presence.clear();
    this.#state.clear();
    this.snapshot = null;
    this.connections += 1;
    this.onLoss();
  }

  take(holder: string): number | null {
    return this.holder() === null ? this.#keep(holder) : null;
  }

  renew(holder: string, revision: number): number | null {
    return this.holder() === null || this.#lease?.revision !== revision ? null : this.#keep(holder);
  }

  release(revision: number): void {
    if (this.#lease?.revision === revision) this.#lease = null;
  }

  holder(): string | null {
    return this.#lease === null || this.#lease.expiresAtMs <= this.#now() ? null : this.#lease.holder;
  }

  noted(of: 'presence' | 'state', key: string): unknown {
    if (of === 'state') return parsed(this.#state.get(key));
    const note = this.#presence.get(key);
    return note === undefined || note.expiresAtMs <= this.#now() ? null : parsed(note.text);
  }

  note(of: 'presence' | 'state', key: string, value: unknown): void {
    const text = JSON.stringify(value);
    if (of === 'state') this.#state.set(key, text);
    else this.#presence.set(key, { text, expiresAtMs: this.#now() + LEASE_MS });
  }

  forget(of: 'presence' | 'state', key: string): void {
    (of === 'state' ? this.#state : this.#presence).delete(key);
  }

  list(of: 'presence' | 'state', prefix: string): Map<string, unknown> {
    const keys = [...(of === 'state' ? this.#state : this.#presence).keys()];
    const found = keys.filter((key) => key.startsWith(prefix) && this.noted(of, key) !== null);
    return new Map(found.sort().map((key) => [key, this.noted(of, key)]));
  }

  get #firstSeq(): number {
    return this.#lastSeq - this.#messages.length + 1;
  }

  #keep(holder: string): number {
    this.#revision += 1;
    this.#lease = { holder, revision: this.#revision, expiresAtMs: this.#now() + LEASE_MS };
    return this.#revision;
  }

  #append(id: string, row: CopiedRow, after: After | null): Message {
    this.#lastSeq += 1;
    // As on the wire: nobody holds on to the bytes of another.
    const message = { seq: this.#lastSeq, id, row: structuredClone(row), storedAt: this.#nanos(), after };
    this.#messages.push(message);
    this.#known.set(id, { seq: message.seq, atMs: this.#now() });
    const news = this.#news;
    this.#news = Promise.withResolvers();
    news.resolve();
    return message;
  }

  /** Never the same twice. */
  #nanos(): string {
    const now = BigInt(Math.round(this.#now())) * 1_000_000n;
    this.#lastNanos = now > this.#lastNanos ? now : this.#lastNanos + 1n;
    return String(this.#lastNanos);
  }
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? null : JSON.parse(text);
}
