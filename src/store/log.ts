/** The durable event log: appends entries, and gives them back in the form that the rules apply. */
import { hash } from 'node:crypto';
import type { Entry, ProductSnapshot, ReadEntry } from '../core/entry.ts';
import { parseDelivery, type ParsedDelivery } from '../service/delivery.ts';
import { productDetailSchema } from '../service/schemas.ts';
import { snapshotOf } from '../service/snapshot.ts';
import type { Db } from './open.ts';

type WithoutSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;

/** An entry on its way into the event log, which gives it its `seq`. Deliveries come as their raw bytes. */
export type NewEntry = WithoutSeq<Exclude<Entry, { kind: 'delivery' }>>;

/**
 * A read as the event log keeps it: the snapshot is made again from the detail, which is left out when it equals the
 * previous one.
 */
interface StoredRead extends Omit<ReadEntry, 'seq' | 'kind' | 'atMs' | 'snapshot'> {
  readonly detail: 'none' | 'unchanged' | { readonly json: string };
}

/** `unmerged`: the rules failed on it, so every variant it names is read instead. */
export type DeliveryKind = 'delivery' | 'unmerged';

const REQUEST_TIME = Buffer.from('"request_time":');
const TIME_DIGITS = 13;
const PREFIX_MS = 100;

/**
 * Identifies a body: the tenth of a second that it says it was sent in, so that the index grows at its end instead of
 * all over, and 12 bytes of its SHA-256, enough that two bodies never collide. A function of the bytes alone.
 */
export function bodyHash(body: Uint8Array): Buffer {
  const key = hash('sha256', body, 'buffer').subarray(0, 16);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = bytes.indexOf(REQUEST_TIME) + REQUEST_TIME.length;
  const sentAtMs = Number(bytes.toString('latin1', start, start + TIME_DIGITS));
  key.writeUInt32BE(
    Number.isSafeInteger(sentAtMs) && sentAtMs >= 0 ? Math.floor(sentAtMs / PREFIX_MS) % 2 ** 32 : 0,
  );
  return key;
}

export class Log {
  readonly #insert;
  readonly #known;
  #lastSeq: number;
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
    this.#insert = db.prepare(
      `INSERT INTO log (seq, kind, at_ms, body_hash, payload) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (body_hash) WHERE body_hash IS NOT NULL DO NOTHING`,
    );
    this.#known = db.prepare<[Buffer], number>('SELECT seq FROM log WHERE body_hash = ?').pluck();
    this.#lastSeq = this.#readLastSeq();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Call after a rollback. */
  reload(): void {
    this.#lastSeq = this.#readLastSeq();
  }

  #readLastSeq(): number {
    return this.#db.prepare<[], number | null>('SELECT max(seq) FROM log').pluck().get() ?? 0;
  }

  /** Appends a body that is new. @returns its position, or that of the same body. */
  appendDelivery(kind: DeliveryKind, body: Uint8Array, atMs: number): { seq: number; duplicate: boolean } {
    const key = bodyHash(body);
    const seq = this.#lastSeq + 1;
    if (this.#insert.run(seq, kind, atMs, key, body).changes === 0) {
      const known = this.#known.get(key);
      if (known === undefined) throw new Error('a body was neither new to the event log nor found there');
      return { seq: known, duplicate: true };
    }
    this.#lastSeq = seq;
    return { seq, duplicate: false };
  }

  /** @param knownDetailJson the product's present detail, for a read. */
  append(entry: NewEntry, knownDetailJson: string | null): number {
    this.#lastSeq += 1;
    const { kind, atMs, ...rest } = entry.kind === 'read' ? storedRead(entry, knownDetailJson) : entry;
    this.#insert.run(this.#lastSeq, kind, atMs, null, Buffer.from(JSON.stringify(rest)));
    return this.#lastSeq;
  }
}

function storedRead(
  entry: Omit<ReadEntry, 'seq'>,
  knownDetailJson: string | null,
): StoredRead & Pick<ReadEntry, 'kind' | 'atMs'> {
  const { snapshot, ...rest } = entry;
  if (snapshot === null) return { ...rest, detail: 'none' };
  if (snapshot.detailJson === knownDetailJson) return { ...rest, detail: 'unchanged' };
  return { ...rest, detail: { json: snapshot.detailJson } };
}

/** A body in the form that the rules apply. */
export function readDelivery(kind: DeliveryKind, body: Uint8Array): ParsedDelivery {
  const parsed = parseDelivery(body);
  if (kind === 'delivery') return parsed;
  const { requestId, changes, unreadable } = parsed;
  const problem = 'not merged: the rules failed on this delivery';
  const named = new Set<string | null>(changes.map(({ variantId }) => variantId));
  if (named.size === 0 && unreadable.length === 0) named.add(null);
  return {
    requestId,
    changes: [],
    unreadable: [
      ...unreadable,
      ...Array.from(named, (variantId) => ({ itemIndex: null, problem, variantId })),
    ],
  };
}

export interface LogRow {
  readonly seq: number;
  readonly kind: string;
  readonly atMs: number;
  readonly payload: Buffer;
}

/**
 * A row of the event log in the form that the rules apply.
 * @param detailOf the product's detail at this point of the log.
 */
export function decodeEntry(row: LogRow, detailOf: (productId: string) => string | null): Entry {
  const { seq, atMs } = row;
  if (row.kind === 'delivery' || row.kind === 'unmerged') {
    return { kind: 'delivery', seq, atMs, ...readDelivery(row.kind, row.payload) };
  }
  const rest = JSON.parse(row.payload.toString('utf8')) as Record<string, unknown>;
  if (row.kind !== 'read') return { ...rest, kind: row.kind, seq, atMs } as Entry;
  const { detail, ...read } = rest as unknown as StoredRead;
  return { ...read, kind: 'read', seq, atMs, snapshot: decodeSnapshot(read.productId, detail, detailOf) };
}

function decodeSnapshot(
  productId: string,
  detail: StoredRead['detail'],
  detailOf: (productId: string) => string | null,
): ProductSnapshot | null {
  if (detail === 'none') return null;
  const json = detail === 'unchanged' ? detailOf(productId) : detail.json;
  if (json === null)
    throw new Error(`the event log refers to a detail of product ${productId} that does not exist`);
  return snapshotOf(productDetailSchema.parse(JSON.parse(json)), json);
}
