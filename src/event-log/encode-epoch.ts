/** The one entry that the event log's own thread makes. Apart from entries.ts, which loads all that parses. */
import type { EpochEntry } from '../core/entry.ts';
import type { EncodedEntry, ReachedFrom } from './event-log.ts';

/** What is kept beside what the rules go by. */
interface EpochPayload extends Omit<EpochEntry, 'seq'> {
  /** By default from all entries before it. */
  readonly reachedFrom?: ReachedFrom;
}

export function encodeEpoch({ kind, atMs, ...rest }: EpochPayload): EncodedEntry {
  return { kind, atMs, payload: new TextEncoder().encode(JSON.stringify(rest)), detail: null };
}
