/** Parses the entries that a primary sends into batches, each of which a replica commits at once. */
import type { CopiedRow } from '../../event-log/copied-row.ts';
import { entriesHeader, type EntriesHeader } from '../../event-log/wire.ts';
import type { Frame } from '../../platform/frames.ts';
import { CannotFollow, TransportError, type Batch } from '../transport.ts';

type Standing = Extract<EntriesHeader, { type: 'standing' }>;

/** What a primary reads at once is a few megabytes, and an entry at most some more. */
const MOST_WAITING_BYTES = 128 << 20;

export class EntryParser {
  readonly #url: string;
  #lastSeq: number;
  #rows: CopiedRow[] = [];
  #bytes = 0;

  /** @param lastSeq the last entry that is here. */
  constructor(url: string, lastSeq: number) {
    this.#url = url;
    this.#lastSeq = lastSeq;
  }

  /** @throws TransportError; CannotFollow when the primary says so. */
  take({ header, payload }: Frame): Batch[] {
    const { data: frame } = entriesHeader.safeParse(header);
    if (frame === undefined) throw this.#unexpected('a frame of an unknown form');
    if ('seq' in frame) {
      this.#add({ seq: frame.seq, kind: frame.kind, atMs: frame.at_ms, payload, detail: null });
      return [];
    }
    if (frame.type === 'standing') return this.#batches(frame);
    const { error, description } = frame;
    if (error === 'snapshot_needed') {
      throw new CannotFollow(`${this.#url} cannot be followed any further: ${description}`, 'snapshot');
    }
    throw new TransportError(`${this.#url} refuses: ${description}`);
  }

  #add(row: CopiedRow & { readonly seq: number }): void {
    // Only a new epoch leaves numbers out.
    const follows = row.kind === 'epoch' ? row.seq > this.#lastSeq : row.seq === this.#lastSeq + 1;
    if (!follows) throw this.#unexpected(`entry ${row.seq} after entry ${this.#lastSeq}`);
    this.#lastSeq = row.seq;
    this.#rows.push(row);
    this.#bytes += row.payload.byteLength;
    if (this.#bytes > MOST_WAITING_BYTES) throw this.#unexpected('entries without an end');
  }

  #batches({ first_seq: firstSeq, last_seq: lastSeq, live }: Standing): Batch[] {
    const parts = split(this.#rows);
    this.#rows = [];
    this.#bytes = 0;
    return parts.map((rows, i): Batch => {
      const isLast = i === parts.length - 1;
      const reached = isLast ? this.#lastSeq : (rows.at(-1)?.seq ?? 0);
      return {
        rows,
        positions: rows.map(() => null),
        cursor: null,
        // Only with the last part: the primary may have pruned rows of this very batch.
        firstSeq: isLast ? firstSeq : null,
        left: Math.max(0, lastSeq - reached),
        isLive: live,
      };
    });
  }

  #unexpected(what: string): TransportError {
    return new TransportError(
      `${this.#url} sends ${what}, which no primary does: see that LOG_URL names one, and that both are of the same version`,
    );
  }
}

/** What an entry prunes must have been applied: it begins a batch. @returns at least one part. */
function split(rows: readonly CopiedRow[]): CopiedRow[][] {
  const parts: CopiedRow[][] = [[]];
  for (const row of rows) {
    if (row.kind === 'pruned' && (parts.at(-1)?.length ?? 0) > 0) parts.push([]);
    parts.at(-1)?.push(row);
  }
  return parts;
}
