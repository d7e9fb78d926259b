/** The one entry that the event log's own thread makes. Apart from entries.ts, which loads all that parses. */
import type { EpochEntry } from '../../core/entry.ts';
import type { EncodedEntry } from './event-log.ts';

export function encodeEpoch({ kind, atMs, ...rest }: Omit<EpochEntry, 'seq'>): EncodedEntry {
  return { kind, atMs, payload: new TextEncoder().encode(JSON.stringify(rest)), detail: null };
}
