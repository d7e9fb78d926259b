/** Reads the mirror's file as its users do. */
import { openForQueries } from '../../src/mirror/reader/open-for-queries.ts';
import { isDamage } from '../../src/sqlite/errors.ts';
import { type Db } from '../../src/sqlite/open.ts';
import { prepared } from '../shared/prepared.ts';
import { onVirtualTime } from './virtual-time.ts';

export class Observer {
  readonly #databasePath: () => string;
  #db: Db | null = null;

  constructor(databasePath: () => string) {
    this.#databasePath = databasePath;
  }

  /** @returns null while a file is missing, damaged or not ours. */
  open(): Db | null {
    if (this.#db !== null) return this.#db;
    let db: Db | null = null;
    try {
      db = openForQueries(this.#databasePath());
      db.prepare('SELECT 1 FROM mirror_status, inbox LIMIT 0').get();
      onVirtualTime(db);
      this.#db = db;
    } catch {
      db?.close();
    }
    return this.#db;
  }

  /** Before a file is replaced. */
  close(): void {
    this.#db?.close();
    this.#db = null;
  }

  /** Readers may meet a damaged file, as long as it can be read at rest. */
  reading(read: (db: Db) => void, onDamage: () => void): void {
    const db = this.open();
    if (db === null) return;
    try {
      read(db);
    } catch (error) {
      if (!isDamage(error)) throw error;
      onDamage();
      this.close();
    }
  }
}

/** The mirror follows this inbox, which a new one of the receiver's may have replaced, and has applied its rows. */
export function isAllApplied(db: Db): boolean {
  return isTrue(
    db,
    `SELECT
       (SELECT inbox_id FROM service_state) = (SELECT inbox_id FROM inbox_file.receiver)
       AND (SELECT inbox_seq FROM mirror_state) >= coalesce((SELECT max(seq) FROM inbox), 0)`,
  );
}

export function hasTrusted(db: Db): boolean {
  return isTrue(db, 'SELECT EXISTS (SELECT 1 FROM mirror_sellable WHERE trusted = 1)');
}

export function isResyncing(db: Db): boolean {
  return isTrue(
    db,
    `SELECT EXISTS (
       SELECT 1 FROM runs WHERE state = 'running' AND product_ids_json IS NULL AND kind <> 'scheduled'
     )`,
  );
}

export function isParked(db: Db): boolean {
  return isTrue(db, 'SELECT EXISTS (SELECT 1 FROM due_reads WHERE parked = 1)');
}

export function heldRemovals(db: Db): number {
  return prepared<[], number>(db, 'SELECT count(*) FROM due_reads WHERE held = 1').pluck().get() ?? 0;
}

export function shownState(db: Db): { readonly state: string; readonly cause: string | null } | undefined {
  type Row = { readonly state: string; readonly cause: string | null };
  return prepared<[], Row>(db, 'SELECT state, state_cause AS cause FROM mirror_status').get();
}

export function aliveAtMs(db: Db): number | null {
  return prepared<[], number | null>(db, 'SELECT alive_at FROM mirror_status').pluck().get() ?? null;
}

/**
 * Products whose share of the reads is due: read longest ago, `ageMs` ago at least, and free to be read. By the mirror's
 * clock at its last heartbeat: a wall clock that was set reaches it later.
 */
export function oldestDue(db: Db, ageMs: number): string[] {
  const due = prepared<[number], { readonly id: string; readonly atMs: number; readonly hasFailed: number }>(
    db,
    `SELECT product_id AS id, read_at_ms AS atMs,
       EXISTS (
         SELECT 1 FROM due_reads d WHERE d.product_id = p.product_id AND d.failed_at_ms IS NOT NULL
       ) AS hasFailed
     FROM products p
     WHERE gone_at_ms IS NULL AND read_at_ms < (SELECT clock_ms FROM service_state) - ?
     ORDER BY read_at_ms, product_id`,
  ).all(ageMs);
  const oldest = due.find(({ hasFailed }) => hasFailed === 0);
  if (oldest === undefined) return [];
  return due.filter(({ atMs }) => atMs <= oldest.atMs).map(({ id }) => id);
}

/** A read that nothing asks for, of the schedule or a probe, is no part of a flood of requests. */
export function isAskedFor(db: Db, productId: string): boolean {
  const isAsked = prepared<{ readonly productId: string }, number>(
    db,
    `SELECT NOT EXISTS (SELECT 1 FROM products WHERE product_id = :productId)
       OR EXISTS (SELECT 1 FROM due_reads WHERE product_id = :productId)
       OR EXISTS (SELECT 1 FROM gaps JOIN variants USING (variant_id) WHERE product_id = :productId)
       OR EXISTS (SELECT 1 FROM runs WHERE state = 'running')
       OR (SELECT read_at_ms FROM products WHERE product_id = :productId)
         < (SELECT trusted_after_ms FROM mirror_state)`,
  );
  return isAsked.pluck().get({ productId }) === 1;
}

function isTrue(db: Db, sql: string): boolean {
  return prepared<[], number>(db, sql).pluck().get() === 1;
}
