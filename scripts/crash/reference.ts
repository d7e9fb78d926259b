/**
 * A second mirror, made of the first one's event log alone: each entry that a kill left is applied again, to files of
 * its own. It is never killed or pruned.
 */
import { applyEntry } from '../../src/core/apply/apply-entry.ts';
import type { Entry } from '../../src/core/entry.ts';
import { decodeEntry, type LogRow } from '../../src/event-log/entries.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { SqliteTables } from '../../src/mirror/writer/sqlite-tables.ts';
import { openBoth } from '../shared/direct-writer.ts';

interface StoredRow extends LogRow {
  readonly bodyHash: Buffer | null;
}

/** The fate of the items of the deliveries applied. */
export interface ItemTally {
  /** A row of the change feed. */
  shown: number;
  /** Applied, and the mirror held the figure already: the feed has no row for it. */
  unchanged: number;
  /** Ignored by a rule, by the rule's name: stale, a duplicate, seen by a read, … */
  readonly ignored: Record<string, number>;
}

const LOG_ROWS = 'SELECT seq, kind, at_ms AS atMs, payload, body_hash AS bodyHash FROM log';

export function logRows(db: Db, afterSeq: number): StoredRow[] {
  return db.prepare<[number], StoredRow>(`${LOG_ROWS} WHERE seq > ? ORDER BY seq`).all(afterSeq);
}

export class Reference {
  readonly db: Db;
  readonly items: ItemTally = { shown: 0, unchanged: 0, ignored: {} };
  readonly #tables: SqliteTables;

  constructor(path: string) {
    this.db = openBoth(path);
    // It may be lost with the machine: it can be made again.
    for (const file of ['main', 'event_log']) this.db.pragma(`${file}.synchronous = OFF`);
    this.db.pragma('wal_autocheckpoint = 1000');
    this.#tables = new SqliteTables(this.db);
  }

  /** Of its event log: all that was taken. */
  get lastSeq(): number {
    return this.db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM log').pluck().get() ?? 0;
  }

  /** @returns the position of the delivery with this body; null when the log never had it. */
  positionOf(bodyHash: Buffer): number | null {
    const found = this.db.prepare<[Buffer], number>('SELECT seq FROM log WHERE body_hash = ?').pluck();
    return found.get(bodyHash) ?? null;
  }

  /**
   * Takes the entries after the last one taken, and applies what is not applied yet of all that it has.
   *
   * @param toSeq the last entry to apply: a kill may have come between an entry and its application.
   * @returns what does not add up.
   */
  take(rows: readonly StoredRow[], toSeq = Number.MAX_SAFE_INTEGER): string[] {
    const insert = this.db.prepare(
      'INSERT INTO log (seq, kind, at_ms, payload, body_hash) VALUES (@seq, @kind, @atMs, @payload, @bodyHash)',
    );
    const problems: string[] = [];
    this.db.transaction(() => {
      for (const row of rows) insert.run(row);
      for (const row of logRows(this.db, this.#tables.state().appliedSeq)) {
        if (row.seq > toSeq) break;
        const entry = decodeEntry(row, (productId) => this.#tables.product(productId)?.detailJson ?? null);
        problems.push(...this.#applyEntry(entry));
      }
      this.#tables.flush();
    })();
    return problems;
  }

  close(): void {
    this.db.close();
  }

  #applyEntry(entry: Entry): string[] {
    if (entry.kind !== 'delivery') {
      applyEntry(this.#tables, entry, () => undefined);
      return [];
    }
    const met: { readonly branch: string; readonly heldQty: number | undefined }[] = [];
    applyEntry(this.#tables, entry, (fact) => {
      if (fact.kind !== 'change') return;
      // Reported before the stock level is written.
      met.push({
        branch: fact.branch,
        heldQty: this.#tables.stockLevel(fact.variantId, fact.warehouseId)?.qty,
      });
    });
    const told = this.db.prepare<[number, string, string, number, string | null], number>(
      `SELECT seq FROM changes WHERE log_seq = ? AND variant_id = ? AND warehouse_id = ? AND new_qty = ?
       AND request_id IS ?`,
    );
    return entry.changes.flatMap((change, i) => {
      const { branch, heldQty } = met[i] ?? {};
      if (branch === undefined) return [`item ${i} of delivery ${entry.requestId} was applied by no rule`];
      const { variantId, warehouseId, new: newQty } = change;
      if (told.get(entry.seq, variantId, warehouseId, newQty, entry.requestId) !== undefined) {
        this.items.shown += 1;
      } else if (heldQty === newQty) {
        this.items.unchanged += 1;
      } else if (IGNORING.has(branch)) {
        this.items.ignored[branch] = (this.items.ignored[branch] ?? 0) + 1;
      } else {
        return [`item ${i} of delivery ${entry.requestId} (${branch}) left no row in the change feed`];
      }
      return [];
    });
  }
}

/** The branches of the rules that leave a stock level as it is (core/apply/merge-change.ts). */
const IGNORING: ReadonlySet<string> = new Set([
  '2 stale',
  '2 stale, yet follows',
  '3 duplicate',
  '3 seen by the read',
  '3 precedes',
  '3 order unknown',
  '4a seen by the read',
  'gone, seen by the read',
  'gone, in doubt',
]);
