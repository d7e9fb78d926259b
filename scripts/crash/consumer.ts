/** An ERP that follows the mirror over a read-only connection, as README tells it to, through every kill. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { isBusy } from '../../src/sqlite/errors.ts';
import { differences } from './audit.ts';
import type { Reference } from './reference.ts';

type Row = Record<string, unknown>;

const POLL_MS = 40;
// Not the names, which are those of today.
const CHANGES =
  'seq, variant_id, warehouse_id, sku, old_qty, new_qty, source, reason, order_id, user_id, update_time, recorded_at, request_id, delta';
const STOCK = 'variant_id, warehouse_id, product_id, sku, product_name, available_qty, on_hand, change_seq';

export class Consumer {
  /** Rows of the change feed seen, all of them once. */
  seen = 0;
  readonly #path: string;
  readonly #problems: string[] = [];
  /** Seen, and not yet held against the log. */
  #unchecked: Row[] = [];
  readonly #copy = new Map<string, Row>();
  #db: Database.Database | null = null;
  #timer: NodeJS.Timeout | null = null;
  #lastSeq = 0;
  #lastStockSeq = 0;
  #statusSeq = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get isConnected(): boolean {
    return this.#db !== null;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tryPoll(), POLL_MS);
  }

  /** Does not look any more. */
  pause(connection: 'kept' | 'closed'): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    if (connection === 'kept') return;
    this.#db?.close();
    this.#db = null;
  }

  /** Looks once more, and holds its copy of the stock against what the mirror shows. @returns what is wrong. */
  finish(reference: Reference): string[] {
    this.pause('closed');
    this.#poll();
    const problems = this.check(reference);
    if (this.#lastSeq !== lastOf(reference)) {
      problems.push(`the consumer saw changes up to ${this.#lastSeq}, the log says ${lastOf(reference)}`);
    }
    const shown = this.#open().prepare<[], Row>(`SELECT ${STOCK} FROM mirror_stock`).all();
    problems.push(...differences('the consumer’s copy', [...this.#copy.values()], shown));
    this.pause('closed');
    return problems;
  }

  /** Compares what was seen since the last time with the event log applied again. @returns what is wrong. */
  check(reference: Reference): string[] {
    const problems = this.#problems.splice(0);
    const seen = this.#unchecked;
    const [first] = seen;
    const last = seen.at(-1);
    this.#unchecked = [];
    if (first === undefined || last === undefined) return problems;
    const said = reference.db
      .prepare<[unknown, unknown], Row>(
        `SELECT ${CHANGES} FROM mirror_changes WHERE seq BETWEEN ? AND ? ORDER BY seq`,
      )
      .all(first['seq'], last['seq']);
    return [...problems, ...differences('what the consumer saw', seen, said)];
  }

  #open(): Database.Database {
    return (this.#db ??= new Database(this.#path, { readonly: true, fileMustExist: true, timeout: 200 }));
  }

  /** Before there is a database there is nothing to follow; a start that is recovering it is passed over. */
  #tryPoll(): void {
    if (!existsSync(this.#path)) return;
    try {
      this.#poll();
    } catch (error) {
      if (isBusy(error) || isUnmade(error)) return;
      this.#problems.push(`the consumer cannot read: ${String(error)}`);
      this.pause('closed');
    }
  }

  #poll(): void {
    const db = this.#open();
    const changes = db
      .prepare<[number], Row>(`SELECT ${CHANGES} FROM mirror_changes WHERE seq > ? ORDER BY seq`)
      .all(this.#lastSeq);
    for (const row of changes) {
      const seq = Number(row['seq']);
      if (seq <= this.#lastSeq) this.#problems.push(`change ${seq} came after ${this.#lastSeq}`);
      this.#lastSeq = seq;
    }
    this.seen += changes.length;
    this.#unchecked.push(...changes);
    const moved = db
      .prepare<[number], Row>(`SELECT ${STOCK} FROM mirror_stock WHERE change_seq > ? ORDER BY change_seq`)
      .all(this.#lastStockSeq);
    for (const row of moved) this.#keep(row);
    const statusSeq = db.prepare<[], number>('SELECT last_seq FROM mirror_status').pluck().get() ?? 0;
    if (statusSeq < this.#statusSeq)
      this.#problems.push(`last_seq fell from ${this.#statusSeq} to ${statusSeq}`);
    this.#statusSeq = statusSeq;
  }

  #keep(row: Row): void {
    const key = `${String(row['variant_id'])}/${String(row['warehouse_id'])}`;
    const known = Number(this.#copy.get(key)?.['change_seq'] ?? 0);
    const seq = Number(row['change_seq']);
    if (seq <= known) this.#problems.push(`change_seq of ${key} fell from ${known} to ${seq}`);
    this.#copy.set(key, row);
    this.#lastStockSeq = Math.max(this.#lastStockSeq, seq);
  }
}

function isUnmade(error: unknown): boolean {
  return error instanceof Error && /no such table|unable to open/.test(error.message);
}

function lastOf(reference: Reference): number {
  return reference.db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM changes').pluck().get() ?? 0;
}
