/** What the event log's rows hold: entries as bytes, and back in the form that the rules apply. */
import { hash } from 'node:crypto';
import type { Entry, ReadEntry } from '../core/entry.ts';
import { parseDelivery, type ParsedDelivery } from '../store-api/delivery.ts';
import { productDetailSchema } from '../store-api/contract/schemas.ts';
import { snapshotOf } from '../store-api/snapshot.ts';
import type { EncodedEntry } from './event-log.ts';

type WithoutSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;

/** An entry on its way into the event log, which gives it its `seq`. Deliveries come as their raw bytes. */
export type NewEntry = WithoutSeq<Exclude<Entry, { kind: 'delivery' }>>;

/**
 * A read as the event log keeps it: the snapshot is made again from the detail, which is left out when it equals the
 * one last logged for the product.
 */
interface StoredRead extends Omit<ReadEntry, 'seq' | 'kind' | 'atMs' | 'snapshot'> {
  readonly detail: 'none' | { readonly hash: string } | { readonly json: string };
}

const encoder = new TextEncoder();

export function encodeEntry(entry: NewEntry): EncodedEntry {
  if (entry.kind !== 'read') {
    const { kind, atMs, ...rest } = entry;
    return { kind, atMs, payload: encoder.encode(JSON.stringify(rest)), detail: null };
  }
  const { kind, atMs, snapshot, ...rest } = entry;
  const payloadWith = (detail: StoredRead['detail']): Uint8Array<ArrayBuffer> =>
    encoder.encode(JSON.stringify({ ...rest, detail } satisfies StoredRead));
  if (snapshot === null) return { kind, atMs, payload: payloadWith('none'), detail: null };
  const hashed = detailHash(snapshot.detailJson);
  return {
    kind,
    atMs,
    payload: payloadWith({ json: snapshot.detailJson }),
    detail: {
      productId: entry.productId,
      hash: encoder.encode(hashed),
      payloadWithout: payloadWith({ hash: hashed }),
    },
  };
}

function detailHash(json: string): string {
  return hash('sha256', json, 'base64').slice(0, 22);
}

/** A delivery that the rules failed on: every variant it names is read instead. */
export function readUnmerged(body: Uint8Array): ParsedDelivery {
  const { requestId, changes, unreadable } = parseDelivery(body);
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
 *
 * @param detailOf the product's detail at this point of the log.
 * @returns for a read whose detail was left out and is not the one at hand: a request to read the product again.
 */
export function decodeEntry(row: LogRow, detailOf: (productId: string) => string | null): Entry {
  const { seq, atMs } = row;
  if (row.kind === 'delivery') return { kind: 'delivery', seq, atMs, ...parseDelivery(row.payload) };
  const rest = JSON.parse(row.payload.toString('utf8')) as Record<string, unknown>;
  if (row.kind !== 'read') return { ...rest, kind: row.kind, seq, atMs } as Entry;
  const { detail, ...read } = rest as unknown as StoredRead;
  const { productId } = read;
  if (detail === 'none') return { ...read, kind: 'read', seq, atMs, snapshot: null };
  const json = typeof detail === 'object' && 'json' in detail ? detail.json : detailOf(productId);
  if (json === null || (typeof detail === 'object' && 'hash' in detail && detailHash(json) !== detail.hash)) {
    return { kind: 'oblige', seq, atMs, reason: 'conflict', productIds: [productId], variantIds: [] };
  }
  return {
    ...read,
    kind: 'read',
    seq,
    atMs,
    snapshot: snapshotOf(productDetailSchema.parse(JSON.parse(json)), json),
  };
}
