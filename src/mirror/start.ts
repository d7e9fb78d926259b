/** Opens the mirror next to its inbox: at every start, and as the only recovery (docs/architecture.md#start). */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { REPLICA_LAG_MS } from '../core/limits.ts';
import { inboxEnds, readReceiver, type InboxEnds } from '../inbox/inbox-file.ts';
import { removeDatabase } from '../sqlite/database-files.ts';
import { isDamage, SqliteFault } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { doneOrClosed, type Db } from '../sqlite/open.ts';
import { prepareRows } from '../sqlite/prepared.ts';
import { transact } from '../sqlite/transact.ts';
import { bringInstantsBack } from './file/instants.ts';
import { isMirrorFile } from './file/known-mirror.ts';
import { openWriter } from './file/open-writer.ts';
import { noteHandedOut, readHandedOut, type HandedOut } from './numbers-note.ts';
import { FORGET_FAILURES, FORGET_UNASKED } from './writer/failures.ts';

/** Where the mirror's file stands. */
export interface MirrorPosition extends HandedOut {
  /** The inbox that it follows; null before its first start. */
  readonly inboxId: string | null;
  /** The last applied row of the inbox, and its arrival; null if none was applied. */
  readonly inboxSeq: number;
  readonly inboxRowAtMs: number | null;
  /** Own clock at the last heartbeat or start, epoch ms. */
  readonly clockMs: number | null;
  /** Written by `backup`, and not started since. */
  readonly isBackup: boolean;
}

export interface InboxPosition extends InboxEnds {
  readonly inboxId: string;
  /** Arrival of the row that the mirror applied last; null if the inbox has no such row. */
  readonly appliedRowAtMs: number | null;
  /** Latest arrival of the rows that the mirror has not applied; null if it has applied all. */
  readonly latestUnappliedAtMs: number | null;
}

/** The clock of a process stands at most this far behind the one before it; if further, that one was wrong. */
export const CLOCK_BACK_MS = 30_000;

/** @returns why a new epoch begins, or null if the mirror continues. */
export function whyNewEpoch(
  mirror: MirrorPosition,
  inbox: InboxPosition,
  handedOut: HandedOut | null,
  nowMs: number,
): string | null {
  if (mirror.isBackup) return 'the mirror was restored from a backup';
  if (mirror.clockMs !== null && mirror.clockMs > nowMs + CLOCK_BACK_MS) {
    return 'the machine’s clock was ahead when the mirror wrote its rows';
  }
  if (mirror.inboxId === null) return 'the mirror has not been started before';
  if (mirror.inboxId !== inbox.inboxId) return 'the mirror belongs to another inbox';
  if (mirror.inboxSeq > inbox.lastSeq) return 'the inbox is older than the mirror';
  if (mirror.inboxSeq + 1 < inbox.firstSeq) return 'the mirror is older than the inbox reaches back';
  if (mirror.inboxRowAtMs !== null && mirror.inboxRowAtMs !== inbox.appliedRowAtMs) {
    return 'the inbox was replaced by an older copy';
  }
  // Applied, they would ask for reads at instants that may be hours away.
  if (areRowsAhead(inbox, nowMs)) return 'the machine’s clock was ahead when the receiver wrote its rows';
  if (handedOut === null) return null;
  const isOlder = handedOut.epoch !== mirror.epoch || handedOut.changeSeq > mirror.changeSeq;
  return isOlder ? 'the mirror is older than what its readers have seen' : null;
}

function areRowsAhead({ latestUnappliedAtMs }: InboxPosition, nowMs: number): boolean {
  return latestUnappliedAtMs !== null && latestUnappliedAtMs > nowMs + CLOCK_BACK_MS;
}

export interface NewEpoch {
  /** null if no reader is known to have seen an earlier one. */
  readonly why: string | null;
  readonly epoch: string;
  readonly changeSeq: number;
  /** Where the unusable file was moved; null if there was none. */
  readonly movedTo: string | null;
}

export interface StartedMirror {
  readonly db: Db;
  /** null if the mirror continues. */
  readonly newEpoch: NewEpoch | null;
}

/** More than the change numbers that readers can see in the second before they are noted. */
const UNNOTED_CHANGES = 1_000_000;
/** The mirror's clock is noted once a second, so its rows may be this much younger than the note. */
const CLOCK_NOTE_MS = 1_000;

/** Suffix of the file moved aside; only the newest is kept. */
export const ASIDE = '.aside';

export interface StartOptions {
  /** Own clock, epoch ms. */
  readonly nowMs: number;
  /** The last opening failed with damage: the whole file is checked. */
  readonly isSuspect: boolean;
}

/** @throws SqliteFault if the file is locked, unreachable, another program's, or without room. */
export function startMirror(path: string, inbox: Db, options: StartOptions): StartedMirror {
  return explain(path, () => startNextTo(inbox, path, options));
}

function startNextTo(inbox: Db, path: string, options: StartOptions): StartedMirror {
  const handedOut = readHandedOut(path);
  const found = existsSync(path) ? openFound(path, options, handedOut !== null || isMirrorFile(path)) : null;
  if (found !== null && typeof found !== 'string') {
    const mirror = mirrorPosition(found);
    const why = whyNewEpoch(mirror, inboxPosition(inbox, mirror.inboxSeq), handedOut, options.nowMs);
    if (why === null) {
      // Not live on the heartbeat of the run before. A kill before the first heartbeat leaves rows of this clock.
      found
        .prepare<[Pick<StartOptions, 'nowMs'>]>(
          `
          UPDATE service_state SET
            clock_ms = max(coalesce(clock_ms, @nowMs), @nowMs),
            state = 'stale',
            state_cause = 'starting'`,
        )
        .run({ nowMs: options.nowMs });
      return { db: found, newEpoch: null };
    }
    const changeSeq = Math.max(mirror.changeSeq, handedOut?.changeSeq ?? 0) + UNNOTED_CHANGES;
    const epoch = newEpochNextTo(inbox, {
      ...options,
      changeSeq,
      clockMs: mirror.clockMs,
      isFirst: false,
    });
    const db = doneOrClosed(found, (kept) => beginEpoch(kept, epoch));
    noteHandedOut(path, epoch);
    return { db, newEpoch: { why, epoch: epoch.epoch, changeSeq, movedTo: null } };
  }
  const movedTo = found === null ? null : moveAside(path);
  const isFirst = handedOut === null && movedTo === null;
  const changeSeq = isFirst ? 0 : (handedOut?.changeSeq ?? 0) + UNNOTED_CHANGES;
  const epoch = newEpochNextTo(inbox, { ...options, changeSeq, clockMs: null, isFirst });
  const db = createMirror(path, (created) => beginEpoch(created, epoch));
  noteHandedOut(path, epoch);
  const why = isFirst ? null : (found ?? 'the mirror’s file is missing');
  return { db, newEpoch: { why, epoch: epoch.epoch, changeSeq, movedTo } };
}

/**
 * @param isUsed the file, or one before it at this path, was a mirror's.
 * @returns why the file cannot be used. @throws SqliteFault if it may be usable later, or is another program's.
 */
function openFound(path: string, { isSuspect }: StartOptions, isUsed: boolean): Db | string {
  let db: Db | null = null;
  try {
    db = openWriter(path);
    const verdict = isSuspect ? db.pragma('integrity_check(1)', { simple: true }) : 'ok';
    if (verdict !== 'ok') throw new SqliteFault('damaged', `${path} is damaged: ${String(verdict)}`);
    return db;
  } catch (error) {
    db?.close();
    // Otherwise a file that cannot be used may be another program's.
    if (!isUsed || !isUnusable(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

function isUnusable(error: unknown): boolean {
  return (
    isDamage(error) || (error instanceof SqliteFault && ['damaged', 'newer_schema'].includes(error.kind))
  );
}

/** Renames the file into place after its epoch has begun: readers, and a start after a kill, find all of it or none. */
function createMirror(path: string, begin: (db: Db) => void): Db {
  const unfinished = `${path}.new`;
  removeDatabase(unfinished);
  doneOrClosed(openWriter(unfinished), begin).close();
  // SQLite would apply a leftover write-ahead log to the new file.
  removeDatabase(path);
  renameSync(unfinished, path);
  return openWriter(path);
}

interface EpochBegin extends HandedOut {
  readonly nowMs: number;
  readonly inboxId: string;
  readonly inboxSeq: number;
  readonly inboxRowAtMs: number | null;
  readonly trustedAfterMs: number;
}

interface EpochFrom {
  readonly nowMs: number;
  readonly changeSeq: number;
  /** Clock at the last heartbeat in the kept file; null if there was none. */
  readonly clockMs: number | null;
  /** There was no mirror at this path before. */
  readonly isFirst: boolean;
}

/**
 * Everything is read again, so the mirror continues at the inbox's end: rows before it would add nothing. The first mirror
 * applies what its receiver took while it was being opened, unless by a clock that was ahead.
 */
function newEpochNextTo(inbox: Db, from: EpochFrom): EpochBegin {
  const { nowMs, changeSeq } = from;
  const { firstSeq, lastSeq } = inboxEnds(inbox);
  const beforeFirstSeq = Math.max(0, firstSeq - 1);
  const appliesAll = from.isFirst && !areRowsAhead(inboxPosition(inbox, beforeFirstSeq), nowMs);
  const inboxSeq = appliesAll ? beforeFirstSeq : lastSeq;
  const { inboxId, appliedRowAtMs } = inboxPosition(inbox, inboxSeq);
  // A read that was sent before may have been stamped by the kept file's clock, which may be a little ahead.
  const isClockRight = from.clockMs !== null && from.clockMs <= nowMs + CLOCK_BACK_MS;
  const readUntilMs = isClockRight ? Math.max(nowMs, (from.clockMs ?? 0) + CLOCK_NOTE_MS) : nowMs;
  return {
    // A new name even for the first: an earlier file may have been deleted with its note.
    epoch: randomBytes(8).toString('hex'),
    changeSeq,
    nowMs,
    inboxId,
    inboxSeq,
    inboxRowAtMs: appliedRowAtMs,
    trustedAfterMs: readUntilMs + REPLICA_LAG_MS,
  };
}

function beginEpoch(db: Db, epoch: EpochBegin): void {
  transact(db, () => {
    bringInstantsBack(db, epoch.nowMs + CLOCK_BACK_MS, epoch.nowMs);
    db.prepare<[EpochBegin]>(
      `
      UPDATE mirror_state SET
        change_seq = @changeSeq,
        inbox_seq = @inboxSeq,
        trusted_after_ms = max(trusted_after_ms, @trustedAfterMs)`,
    ).run(epoch);
    db.prepare<[EpochBegin]>(
      `
      UPDATE service_state SET
        epoch = @epoch,
        inbox_id = @inboxId,
        inbox_row_at_ms = @inboxRowAtMs,
        inbox_prunable_seq = 0,
        is_backup = 0,
        alive_at_ms = NULL,
        clock_ms = @nowMs,
        state = 'stale',
        state_cause = 'starting',
        last_full_sync_at_ms = NULL`,
    ).run(epoch);
    db.prepare<[EpochBegin]>(
      `
      UPDATE runs SET state = 'failed', finished_at_ms = @nowMs, error = 'a new epoch has begun'
      WHERE state = 'running'`,
    ).run(epoch);
    db.exec(FORGET_FAILURES);
    db.exec(FORGET_UNASKED);
    db.exec('DELETE FROM deliveries');
  });
}

function inboxPosition(inbox: Db, appliedSeq: number): InboxPosition {
  const appliedRowAtMs = inbox
    .prepare<[number], number>('SELECT arrived_at_ms FROM inbox WHERE seq = ?')
    .pluck()
    .get(appliedSeq);
  // The clock may have stepped back between two of these rows, so the last one need not be the latest.
  const latestUnappliedAtMs = inbox
    .prepare<[number], number | null>('SELECT max(arrived_at_ms) FROM inbox WHERE seq > ?')
    .pluck()
    .get(appliedSeq);
  const { inboxId } = readReceiver(inbox);
  return {
    ...inboxEnds(inbox),
    inboxId,
    appliedRowAtMs: appliedRowAtMs ?? null,
    latestUnappliedAtMs: latestUnappliedAtMs ?? null,
  };
}

export function mirrorPosition(db: Db): MirrorPosition {
  const row = prepareRows<[], Omit<MirrorPosition, 'isBackup'> & { readonly isBackup: number }>(
    db,
    {
      epoch: 'service_state.epoch',
      changeSeq: 'mirror_state.change_seq',
      inboxId: 'service_state.inbox_id',
      inboxSeq: 'mirror_state.inbox_seq',
      inboxRowAtMs: 'service_state.inbox_row_at_ms',
      clockMs: 'service_state.clock_ms',
      isBackup: 'service_state.is_backup',
    },
    (columns) => `SELECT ${columns} FROM mirror_state, service_state`,
  ).get();
  if (row === undefined) throw new SqliteFault('damaged', `${db.name} has no state.`);
  return { ...row, isBackup: row.isBackup === 1 };
}

function moveAside(path: string): string {
  const to = path + ASIDE;
  removeDatabase(to);
  renameSync(path, to);
  return to;
}
