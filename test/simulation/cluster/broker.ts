/**
 * The engine as it is in itself: one stream, a lease, notes, a snapshot; in memory, and the same for all machines. How
 * machines reach it is in network.ts.
 */
import type { CopiedRow } from '../../../src/event-log/copied-row.ts';
import { LEASE_MS, type Publication, type Standing } from '../../../src/replication/transport.ts';
import { present } from '../../shared/present.ts';

/** A history begins with a base, and goes on after exactly this. */
export interface Base {
  readonly after: { readonly epoch: string; readonly lastSeq: number };
  /** How many began before it. */
  readonly generation: number;
}

export interface Message {
  readonly position: number;
  readonly id: string;
  readonly row: CopiedRow;
  /** Null: an entry. */
  readonly base: Base | null;
}

type Begun = Message & { readonly base: Base };

/** The place of a message: what a cursor and a receipt are made of. */
export interface Spot {
  readonly generation: number;
  readonly position: number;
  readonly id: string;
}

interface Note {
  readonly value: string;
  readonly expiresAtMs: number;
}

export interface StoredSnapshot {
  readonly mirror: Uint8Array;
  readonly log: Uint8Array;
}

/** What was published longer ago than this is not known as a duplicate any more. */
const DUPLICATES_KNOWN_MS = 120_000;

export class Broker {
  readonly #now: () => number;
  /** Null: there is none. */
  #messages: Message[] | null = [];
  #base: Begun | null = null;
  /** Positions go on rising when messages are gone. */
  #lastPosition = 0;
  #known = new Map<string, { readonly position: number; readonly atMs: number }>();
  #revision = 0;
  #lease: { readonly holder: string; readonly revision: number; readonly expiresAtMs: number } | null = null;
  readonly #presence = new Map<string, Note>();
  readonly #state = new Map<string, string>();
  snapshot: StoredSnapshot | null = null;
  /** Ends with the next message. */
  #news = Promise.withResolvers<void>();
  /** Connections of before are broken. */
  connections = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get lastPosition(): number {
    return this.#lastPosition;
  }

  /** Of the history that is to be followed; null: there is none. */
  get base(): Begun | null {
    return this.#base;
  }

  /** Resolves with the next message. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  after(position: number, limit: number): { readonly messages: readonly Message[]; readonly left: number } {
    const all = this.#messages ?? [];
    const from = this.#indexOf(position + 1);
    return { messages: all.slice(from, from + limit), left: Math.max(0, all.length - from - limit) };
  }

  holds({ generation, position, id }: Spot): boolean {
    const { base } = this;
    if (base === null || base.base.generation !== generation || position < base.position) return false;
    return this.#messages?.[this.#indexOf(position)]?.id === id;
  }

  /** @returns null when there is no history to publish to. */
  publish({ id, row }: Publication): { readonly spot: Spot; readonly isDuplicate: boolean } | null {
    const { base } = this;
    if (base === null) return null;
    const { generation } = base.base;
    const known = this.#known.get(id);
    if (known !== undefined && this.#now() - known.atMs < DUPLICATES_KNOWN_MS) {
      return { spot: { generation, position: known.position, id }, isDuplicate: true };
    }
    return { spot: { generation, position: this.#append(id, row, null), id }, isDuplicate: false };
  }

  /** @param expectedPosition of the last message, as whoever begins has seen it. @returns false when there is a later one. */
  begin(row: CopiedRow, base: Base, expectedPosition: number): boolean {
    if (this.#lastPosition !== expectedPosition) return false;
    this.#messages ??= [];
    // What was published before is none of the new history's.
    this.#known = new Map();
    const id = `base-${base.generation}-${this.#lastPosition}`;
    this.#base = { position: this.#append(id, row, base), id, row, base };
    return true;
  }

  /** Its last messages are gone, as after a power cut without syncing. @returns how many. */
  loseTail(count: number): number {
    const messages = this.#messages ?? [];
    const lost = messages.splice(Math.max(0, messages.length - count));
    for (const { id } of lost) this.#known.delete(id);
    const begun = messages.findLast(({ base }) => base !== null);
    this.#base = begun === undefined ? null : { ...begun, base: present(begun.base) };
    const first = lost[0];
    // Their positions are given out again.
    if (first !== undefined) this.#lastPosition = first.position - 1;
    this.connections += 1;
    return lost.length;
  }

  /** All of it is gone, and an empty one is in its place. */
  empty(): void {
    this.#messages = null;
    this.#base = null;
    this.#lastPosition = 0;
    this.#known = new Map();
    this.#lease = null;
    this.#presence.clear();
    this.#state.clear();
    this.snapshot = null;
    this.connections += 1;
  }

  take(holder: string): number | null {
    if (this.holder() !== null) return null;
    return this.#keep(holder);
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

  #keep(holder: string): number {
    this.#revision += 1;
    this.#lease = { holder, revision: this.#revision, expiresAtMs: this.#now() + LEASE_MS };
    return this.#revision;
  }

  noted(of: 'presence' | 'state', key: string): unknown {
    if (of === 'state') return parsed(this.#state.get(key));
    const note = this.#presence.get(key);
    return note === undefined || note.expiresAtMs <= this.#now() ? null : parsed(note.value);
  }

  note(of: 'presence' | 'state', key: string, value: unknown): void {
    const text = JSON.stringify(value);
    if (of === 'state') this.#state.set(key, text);
    else this.#presence.set(key, { value: text, expiresAtMs: this.#now() + LEASE_MS });
  }

  forget(of: 'presence' | 'state', key: string): void {
    (of === 'state' ? this.#state : this.#presence).delete(key);
  }

  list(of: 'presence' | 'state', prefix: string): Map<string, unknown> {
    const keys = [...(of === 'state' ? this.#state : this.#presence).keys()];
    const found = keys.filter((key) => key.startsWith(prefix) && this.noted(of, key) !== null);
    return new Map(found.sort().map((key) => [key, this.noted(of, key)]));
  }

  /** They are gapless. */
  #indexOf(position: number): number {
    return position - (this.#messages?.[0]?.position ?? 1);
  }

  #append(id: string, row: CopiedRow, base: Base | null): number {
    this.#lastPosition += 1;
    const position = this.#lastPosition;
    // As on the wire: nobody holds on to the bytes of another.
    this.#messages?.push({ position, id, row: structuredClone(row), base });
    this.#known.set(id, { position, atMs: this.#now() });
    const news = this.#news;
    this.#news = Promise.withResolvers();
    news.resolve();
    return position;
  }
}

/** Whether a log that stands there can go on with a base. */
export function goesOnWith({ after }: Base, { epoch, lastSeq }: Standing): boolean {
  if (lastSeq === 0) return after.lastSeq === 0;
  return after.epoch === epoch && after.lastSeq === lastSeq;
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? null : JSON.parse(text);
}
