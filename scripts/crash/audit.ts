/** Compares what a kill left with what was answered before it, and with the event log applied again. */
import { bodyHash } from '../../src/event-log/body-hash.ts';
import { PROJECTED } from '../../src/mirror/file/projected.ts';
import { knownSchemaVersion } from '../../src/sqlite/migrate.ts';
import type { Db } from '../../src/sqlite/open.ts';
import type { Aged } from './files.ts';
import { logRows, type Reference } from './reference.ts';

interface AnsweredDelivery {
  readonly requestId: string;
  readonly body: Uint8Array;
  readonly items: readonly unknown[];
}

export interface AuditOptions {
  /** Reads every page, and the whole log again; otherwise only what is asked for is read. */
  readonly integrity: boolean;
  /** Answered since the last audit. */
  readonly answered: readonly AnsweredDelivery[];
  /** Answered `202` to whoever asked for a resync, ever. */
  readonly runIds: readonly number[];
  /** What may have been pruned. */
  readonly aged: Aged;
}

interface RunRow {
  readonly id: number;
  readonly kind: string;
  readonly state: string;
}

type Row = Record<string, unknown>;

/** What applying an entry writes and nothing prunes. */
const KEPT = PROJECTED.filter((from) => !/^(changes|dead_letters) /.test(from));
const SHOWN_ROWS = 2;
const SHOWN_CHARACTERS = 160;

export class Audit {
  readonly #reference: Reference;
  /** Deliveries found in the log; a repeat counts again. */
  found = 0;
  /** The most entries that a kill left in the event log without being applied. */
  mostBehind = 0;
  #appliedSeq = 0;
  #epoch: string | null = null;
  #aliveAtMs = 0;
  #changeSeq = 0;
  #deadLetterId = 0;
  readonly #endedRuns = new Set<number>();

  constructor(reference: Reference) {
    this.#reference = reference;
  }

  /** @param db what the kill left, or a copy of it; the event log attached. @returns what is wrong; none when all is well. */
  check(db: Db, options: AuditOptions): string[] {
    const damage = options.integrity ? integrityOf(db) : [];
    // What follows would only say the same in stranger words.
    if (damage.length > 0) return damage;
    const schema = schemaProblems(db);
    if (schema.length > 0 || !hasSchema(db)) {
      // The event log is there before the mirror, and so are the deliveries that were answered.
      const taken = hasLog(db) ? this.#takeLog(db, 0, options.aged) : [];
      return [...schema, ...taken, ...this.#missing(options.answered)];
    }
    const appliedSeq = numberOf(db, 'SELECT applied_seq FROM mirror_state');
    return [
      ...this.#takeLog(db, appliedSeq, options.aged),
      ...(options.integrity ? this.#changedLog(db, options.aged) : []),
      ...this.#missing(options.answered),
      ...KEPT.flatMap((from) => this.#difference(db, from)),
      ...this.#newRows(db, options.aged),
      ...this.#service(db),
      ...this.#runs(db, options.runIds),
    ];
  }

  /** The log goes on where it ended, without a gap, and has lost nothing but what was old. */
  #takeLog(db: Db, appliedSeq: number, aged: Aged): string[] {
    const before = this.#reference.lastSeq;
    const problems: string[] = [];
    const row = db.prepare<[], Row>('SELECT min(seq) AS low, max(seq) AS high, count(*) AS rows FROM log');
    const log = row.get() as { low: number | null; high: number | null; rows: number };
    const low = log.low ?? 1;
    const high = log.high ?? 0;
    if (appliedSeq > high)
      problems.push(`the mirror has applied entry ${appliedSeq}, the log ends at ${high}`);
    if (appliedSeq < this.#appliedSeq) {
      problems.push(`the mirror had applied entry ${this.#appliedSeq} and holds ${appliedSeq} only`);
    }
    this.#appliedSeq = appliedSeq;
    this.mostBehind = Math.max(this.mostBehind, high - appliedSeq);
    if (high < before) problems.push(`the log ends at ${high} and had ended at ${before}`);
    if (log.rows !== high - low + 1) problems.push(`the log has ${log.rows} rows from ${low} to ${high}`);
    if (low > Math.max(1, aged.logSeq)) problems.push(`the log begins at ${low}: what is not old was pruned`);
    const fresh = logRows(db, before);
    if (fresh.length > 0 && fresh[0]?.seq !== before + 1) {
      // Nothing more can be applied to it: what follows would only say so again.
      return [...problems, `the log goes on at ${fresh[0]?.seq} after ${before}`];
    }
    return [...problems, ...this.#reference.take(fresh, appliedSeq)];
  }

  /** What is once in the log stays as it is. */
  #changedLog(db: Db, aged: Aged): string[] {
    const rowsOf = (from: Db): Row[] =>
      from
        .prepare<[number], Row>(
          `SELECT seq, kind, at_ms, hex(body_hash) AS body_hash, hex(payload) AS payload FROM log
           WHERE seq >= ? ORDER BY seq`,
        )
        .all(aged.logSeq);
    return differences('log', rowsOf(db), rowsOf(this.#reference.db));
  }

  #missing(answered: readonly AnsweredDelivery[]): string[] {
    return answered.flatMap(({ requestId, body }) => {
      if (this.#reference.positionOf(bodyHash(body)) === null) {
        return [`delivery ${requestId} was answered 204 and is not in the log`];
      }
      this.found += 1;
      return [];
    });
  }

  #difference(db: Db, from: string): string[] {
    return differences(from, allOf(db, from), allOf(this.#reference.db, from));
  }

  /** The tables that only grow, from where the last audit ended. */
  #newRows(db: Db, aged: Aged): string[] {
    const { db: reference } = this.#reference;
    const changes = `changes WHERE seq > ${this.#changeSeq} ORDER BY seq`;
    const deadLetters = `dead_letters WHERE id > ${this.#deadLetterId} ORDER BY id`;
    const problems = [changes, deadLetters].flatMap((from) => this.#difference(db, from));
    this.#changeSeq = numberOf(reference, 'SELECT max(seq) FROM changes');
    this.#deadLetterId = numberOf(reference, 'SELECT max(id) FROM dead_letters');
    const kept = `SELECT count(*) FROM changes WHERE seq >= ${aged.changeSeq}`;
    const lost = numberOf(reference, kept) - numberOf(db, kept);
    if (lost !== 0) problems.push(`${lost} rows of the change feed are gone that are not old`);
    return problems;
  }

  #service(db: Db): string[] {
    const state = db
      .prepare<[], Row>(
        `SELECT s.epoch AS epoch, h.epoch AS logEpoch, coalesce(h.alive_at_ms, 0) AS aliveAtMs
         FROM service_state s, history h`,
      )
      .get() as { epoch: string; logEpoch: string; aliveAtMs: number } | undefined;
    if (state === undefined) return ['service_state or history has no row'];
    const problems: string[] = [];
    if (this.#epoch !== null && state.epoch !== this.#epoch) problems.push('the epoch has changed');
    if (state.epoch !== state.logEpoch) problems.push('mirror and event log are of different epochs');
    if (state.aliveAtMs < this.#aliveAtMs) problems.push('alive_at has fallen');
    this.#epoch = state.epoch;
    this.#aliveAtMs = state.aliveAtMs;
    return problems;
  }

  /** A run that was promised is there, and one that has ended stays ended; two of a kind never run at once. */
  #runs(db: Db, promised: readonly number[]): string[] {
    const runs = db.prepare<[], RunRow>('SELECT id, kind, state FROM runs').all();
    const ids = new Set(runs.map(({ id }) => id));
    const problems = promised
      .filter((id) => !ids.has(id))
      .map((id) => `run ${id} was promised and is not there`);
    const running = new Map<string, number>();
    for (const { id, kind, state } of runs) {
      if (state !== 'running') {
        this.#endedRuns.add(id);
        continue;
      }
      if (this.#endedRuns.has(id)) problems.push(`run ${id} had ended and runs again`);
      if (running.has(kind)) problems.push(`runs ${running.get(kind)} and ${id}, both ${kind}, run at once`);
      running.set(kind, id);
    }
    return problems;
  }
}

/** Of both files. */
function integrityOf(db: Db): string[] {
  try {
    const found = db.prepare<[], string>('PRAGMA integrity_check').pluck().all();
    if (found.every((one) => one === 'ok')) return [];
    return [`integrity_check: ${found.slice(0, SHOWN_ROWS).join('; ')}`];
  } catch (error) {
    // Damage can be such that not even this can be asked.
    return [`integrity_check: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function hasLog(db: Db): boolean {
  return numberOf(db, `SELECT count(*) FROM event_log.sqlite_master WHERE name = 'log'`) === 1;
}

function hasSchema(db: Db): boolean {
  return numberOf(db, `SELECT count(*) FROM main.sqlite_master WHERE name = 'mirror_state'`) === 1;
}

/** The whole schema, or nothing of it: never half. */
function schemaProblems(db: Db): string[] {
  const names = db.prepare<[], string>('SELECT name FROM main.sqlite_master ORDER BY name').pluck().all();
  // The migrator makes the table of its notes first, outside of any migration.
  const made = names.filter((name) => !name.includes('__drizzle_migrations') && !name.startsWith('sqlite_'));
  const noted = names.includes('__drizzle_migrations')
    ? numberOf(db, 'SELECT count(*) FROM __drizzle_migrations')
    : 0;
  if (made.length === 0 && noted === 0) return [];
  if (noted === knownSchemaVersion() && hasSchema(db)) return [];
  return [`the schema is half made: ${made.length} tables, indexes and views, ${noted} migrations recorded`];
}

function numberOf(db: Db, sql: string): number {
  return db.prepare<[], number | null>(sql).pluck().get() ?? 0;
}

function allOf(db: Db, from: string): Row[] {
  return db.prepare<[], Row>(`SELECT * FROM ${from}`).all();
}

/** @returns one line that shows the first few rows that differ. */
export function differences(what: string, found: readonly Row[], expected: readonly Row[]): string[] {
  const left = new Set(expected.map((row) => JSON.stringify(row)));
  const extra = found.map((row) => JSON.stringify(row)).filter((row) => !left.delete(row));
  if (extra.length === 0 && left.size === 0) return [];
  const shown = (rows: readonly string[]): string =>
    rows
      .slice(0, SHOWN_ROWS)
      .map((row) => row.slice(0, SHOWN_CHARACTERS))
      .join(' … ') || 'none';
  return [
    `${what}: ${extra.length} rows are not what the log says (${shown(extra)}), ` +
      `${left.size} rows that it says are missing (${shown([...left])})`,
  ];
}
