/**
 * The event log as another machine copies it: what comes after a place, if that place is in it
 * (docs/follower.md#following-a-primary).
 */
import { RULES_VERSION } from '../../core/rules-version.ts';
import type { ReachedFrom, RulesPeriod } from '../../event-log/event-log.ts';
import { LogReader } from '../../event-log/read-log.ts';
import type { EntryHeader } from '../../event-log/wire.ts';
import { encodeFrame } from '../../platform/frames.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { isCopy } from './lag.ts';

interface LogPlace {
  readonly epoch: string;
  /** The last entry that the copy has. */
  readonly after: number;
  /** The version of the rules by which the copy applies entries. */
  readonly rules: number;
}

/** Why what comes after a place cannot be had. */
interface LogRefusal {
  readonly error: 'snapshot_needed' | 'other_rules';
  readonly description: string;
}

export interface LogSlice {
  /** Entries in frames, one after the other. */
  readonly frames: Uint8Array;
  /** The last of them, and the epoch then: where the next slice begins. */
  readonly after: number;
  readonly epoch: string;
  readonly firstSeq: number;
}

const readers = new WeakMap<Db, LogReader>();

/**
 * As much as the projection applies at once, all as of one moment. The place is looked at each time: meanwhile entries
 * may be pruned, and another history begin.
 *
 * @param db a connection with the event log attached. @param args.upTo the last entry that is known to be on disk.
 */
export function logSlice(
  db: Db,
  { upTo, ...place }: LogPlace & { readonly upTo: number },
): LogSlice | LogRefusal {
  return db.transaction((): LogSlice | LogRefusal => {
    const why = whyRefused(db, place);
    if (why !== null) return why;
    let reader = readers.get(db);
    if (reader === undefined) readers.set(db, (reader = new LogReader(db)));
    const rows = reader.after(place.after, upTo);
    const frames = Buffer.concat(
      rows.map(({ seq, kind, atMs, payload }) =>
        encodeFrame({ seq, kind, at_ms: atMs } satisfies EntryHeader, payload),
      ),
    );
    const epochs = rows.filter(({ kind }) => kind === 'epoch').map(({ payload }) => epochIn(payload));
    return {
      frames,
      after: rows.at(-1)?.seq ?? place.after,
      epoch: epochs.at(-1) ?? place.epoch,
      firstSeq: firstSeqOf(db),
    };
  })();
}

function whyRefused(db: Db, { epoch, after, rules }: LogPlace): LogRefusal | null {
  const snapshot = (description: string): LogRefusal => ({ error: 'snapshot_needed', description });
  const period = rulesIn(db).at(-1);
  if (rules !== RULES_VERSION) {
    return {
      error: 'other_rules',
      description: `rules: entries are applied by version ${RULES_VERSION} of the rules here, and by version ${rules} in the copy: install the same stock-mirror on both`,
    };
  }
  // By other rules other rows come of it.
  if (period !== undefined && after + 1 < period.fromSeq && after < lastSeqOf(db)) {
    return snapshot(
      `after: entries before ${period.fromSeq} were applied by an earlier version of the rules`,
    );
  }
  const lastSeq = lastSeqOf(db);
  // A copy that is behind comes to it.
  if (after > lastSeq && isCopy(db) && epochAt(db, lastSeq) === epoch) return null;
  const first = firstSeqOf(db);
  if (after + 1 < first) return snapshot(`after: the entries before ${first} were pruned`);
  if (after > 0 && !isIn(db, after)) return snapshot(`after: there is no entry ${after} in this history`);
  if (epochAt(db, after) !== epoch) {
    return snapshot(`epoch: entry ${after} belongs to another history than ${epoch}`);
  }
  const broken = epochsAfter(db, after).find((began) => began.epoch === null || !isReached(db, began));
  if (broken === undefined) return null;
  return snapshot(`after: entry ${broken.seq} began a history that the entries before it do not lead to`);
}

interface EpochRow {
  readonly seq: number;
  /** Null: of an earlier version, which did not name it here. */
  readonly epoch: string | null;
  readonly reachedFrom: string | null;
}

const EPOCHS = `
  SELECT seq, CAST(payload AS TEXT) ->> '$.epoch' AS epoch, CAST(payload AS TEXT) ->> '$.reachedFrom' AS reachedFrom
  FROM log WHERE kind = 'epoch'`;

function epochsAfter(db: Db, seq: number): EpochRow[] {
  return prepared<[number], EpochRow>(db, `${EPOCHS} AND seq > ? ORDER BY seq`).all(seq);
}

/** In force at this place; null: not known any more. */
function epochAt(db: Db, seq: number): string | null {
  const began = prepared<[number], EpochRow>(db, `${EPOCHS} AND seq <= ? ORDER BY seq DESC LIMIT 1`).get(seq);
  if (began !== undefined) return began.epoch;
  const history = prepared<[], { epoch: string; epochSeq: number | null; epochBefore: string | null }>(
    db,
    'SELECT epoch, epoch_seq AS epochSeq, epoch_before AS epochBefore FROM event_log.history',
  ).get();
  if (history === undefined) return null;
  const [next, ...later] = epochsAfter(db, seq);
  if (next === undefined) return history.epoch;
  return later.length === 0 && next.seq === history.epochSeq ? history.epochBefore : null;
}

/** From all entries before it: a copy that has them goes on as the mirror here did. */
function isReached(db: Db, { seq, reachedFrom }: EpochRow): boolean {
  if (reachedFrom === null) return true;
  const { low, high } = JSON.parse(reachedFrom) as ReachedFrom;
  const before = prepared<[number], number | null>(db, 'SELECT max(seq) FROM log WHERE seq < ?');
  return low === 0 && high >= (before.pluck().get(seq) ?? 0);
}

function isIn(db: Db, seq: number): boolean {
  return prepared<[number]>(db, 'SELECT 1 FROM log WHERE seq = ?').get(seq) !== undefined;
}

function firstSeqOf(db: Db): number {
  return prepared<[], number | null>(db, 'SELECT min(seq) FROM log').pluck().get() ?? 1;
}

function lastSeqOf(db: Db): number {
  return prepared<[], number | null>(db, 'SELECT max(seq) FROM log').pluck().get() ?? 0;
}

function rulesIn(db: Db): readonly RulesPeriod[] {
  const text = prepared<[], string>(db, 'SELECT rules FROM event_log.history').pluck().get() ?? '[]';
  return JSON.parse(text) as RulesPeriod[];
}

function epochIn(payload: Uint8Array): string {
  return (JSON.parse(Buffer.from(payload).toString('utf8')) as { epoch: string }).epoch;
}
