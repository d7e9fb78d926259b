/** Follows the change feed by SQL through every kill, and keeps a copy of the stock. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';

export interface Change {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly old_qty: number | null;
  readonly new_qty: number | null;
}

const POLL_MS = 40;

export class Consumer {
  seen = 0;
  readonly problems: string[] = [];
  readonly #path: string;
  readonly #copy = new Map<string, number>();
  #lastSeq = 0;
  #epoch: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Applies rows of the feed. Each must begin at the quantity of the row before it. */
  take(changes: readonly Change[]): void {
    for (const { seq, variant_id, warehouse_id, old_qty, new_qty } of changes) {
      const key = `${variant_id}/${warehouse_id}`;
      const held = this.#copy.get(key) ?? null;
      if (seq <= this.#lastSeq) this.problems.push(`change ${seq} came after change ${this.#lastSeq}`);
      if (held !== old_qty)
        this.problems.push(`change ${seq} of ${key} begins at ${old_qty}, the consumer holds ${held}`);
      if (new_qty === null) this.#copy.delete(key);
      else this.#copy.set(key, new_qty);
      this.#lastSeq = seq;
      this.seen += 1;
    }
  }

  finish(): void {
    this.stop();
    this.#poll();
    const db = new Database(this.#path, { readonly: true });
    const rows = db
      .prepare<[], { key: string; qty: number }>(
        `SELECT variant_id || '/' || warehouse_id AS key, available_qty AS qty FROM mirror_stock`,
      )
      .all();
    db.close();
    const keys = new Set([...rows.map(({ key }) => key), ...this.#copy.keys()]);
    const shown = new Map(rows.map(({ key, qty }) => [key, qty]));
    for (const key of keys) {
      if (shown.get(key) === this.#copy.get(key)) continue;
      this.problems.push(`${key}: the consumer holds ${this.#copy.get(key)}, the mirror ${shown.get(key)}`);
    }
  }

  #poll(): void {
    if (!existsSync(this.#path)) return;
    let db: Database.Database | null = null;
    try {
      db = new Database(this.#path, { readonly: true, timeout: 200 });
      const read = db.transaction(() => ({
        epoch: db?.prepare<[], string>('SELECT epoch FROM mirror_status').pluck().get(),
        // Rows without a warehouse are totals, which change with their levels.
        changes: db
          ?.prepare<[number], Change>(
            `SELECT seq, variant_id, warehouse_id, old_qty, new_qty FROM mirror_changes
             WHERE seq > ? AND warehouse_id IS NOT NULL ORDER BY seq`,
          )
          .all(this.#lastSeq),
      }));
      const { epoch, changes = [] } = read();
      if (epoch === undefined) return;
      if (this.#epoch !== null && epoch !== this.#epoch)
        this.problems.push(`the epoch changed from ${this.#epoch} to ${epoch}`);
      this.#epoch = epoch;
      this.take(changes);
    } catch (error) {
      // A killed process may leave a file without views, and the next one locks it during recovery.
      if (!/no such table|unable to open|locked|busy/.test(String(error)))
        this.problems.push(`the consumer cannot read: ${String(error)}`);
    } finally {
      db?.close();
    }
  }
}
