/** A replica's event log, by itself: it copies from a source until a test has seen what it waits for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventLog } from '../../src/event-log/event-log.ts';
import { openLogForAppending, openLogForReading } from '../../src/event-log/open-log.ts';
import { LogReader } from '../../src/event-log/read-log.ts';
import { TransportError, type Batch, type Source, type Standing } from '../../src/replication/transport.ts';

interface CopiedEntry {
  readonly seq: number;
  readonly kind: string;
  readonly payload: string;
}

export class CopyingLog implements Disposable {
  readonly path: string;
  readonly log: EventLog;
  /** The positions that came with rows. */
  readonly positions: (number | null)[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'copying-'));
  readonly #db;
  #cursor: unknown = null;

  constructor() {
    this.path = join(this.#folder, 'log.db');
    this.#db = openLogForAppending(this.path);
    this.log = new EventLog(this.#db);
  }

  get standing(): Standing {
    return { epoch: this.log.history().epoch, lastSeq: this.log.lastSeq, cursor: this.#cursor };
  }

  get entries(): CopiedEntry[] {
    const db = openLogForReading(this.path);
    try {
      const reader = new LogReader(db);
      const found: CopiedEntry[] = [];
      for (;;) {
        const rows = reader.after(found.at(-1)?.seq ?? 0, this.log.lastSeq);
        if (rows.length === 0) return found;
        found.push(
          ...rows.map(({ seq, kind, payload }) => ({ seq, kind, payload: payload.toString('utf8') })),
        );
      }
    } finally {
      db.close();
    }
  }

  /** The bodies of what are deliveries. */
  get deliveries(): string[] {
    return this.entries.filter(({ kind }) => kind === 'delivery').map(({ payload }) => payload);
  }

  /**
   * Until a batch fits, by trying again whatever cuts it off, as a replica does. @returns that batch.
   *
   * @throws CannotFollow
   */
  async copy(
    source: Pick<Source, 'follow' | 'name'>,
    until: (batch: Batch) => boolean,
    withinMs = 30_000,
  ): Promise<Batch> {
    const signal = AbortSignal.timeout(withinMs);
    let trouble: unknown = null;
    while (!signal.aborted) {
      try {
        for await (const batch of source.follow(this.standing, signal)) {
          this.#commit(batch, source.name);
          if (until(batch)) return batch;
        }
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        trouble = error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    throw new Error('what was waited for has not come', { cause: trouble });
  }

  [Symbol.dispose](): void {
    this.#db.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #commit({ rows, positions, cursor, firstSeq }: Batch, origin: string): void {
    this.log.copy({ rows, firstSeq, origin, cursor });
    this.#cursor = cursor;
    this.positions.push(...positions);
  }
}

/** It has everything. */
export function isUpToDate({ left, isLive }: Batch): boolean {
  return left === 0 && isLive;
}
