/** Opens the mirror next to its inbox: at every start, and as the only recovery (docs/architecture.md#start). */
import { existsSync, renameSync } from 'node:fs';
import { newName, readMetadata, type InboxMetadata } from '../inbox/inbox.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../core/limits.ts';
import { removeDatabase } from '../sqlite/database-files.ts';
import { isDamage, StoreError } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { doneOrClosed, type Db } from '../sqlite/open.ts';
import { openWriter } from './file/open-writer.ts';

export interface MirrorPosition {
  readonly epoch: string;
  readonly inboxSeq: number;
  readonly changeSeq: number;
  /** Written by `backup`, and not started since. */
  readonly isBackup: boolean;
  /** The inbox's epoch when this one began; null for its first. */
  readonly inboxEpoch: string | null;
}

interface InboxPosition extends Pick<InboxMetadata, 'epoch' | 'changeSeq' | 'clockMs'> {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export type Verdict =
  | { readonly start: 'continue' }
  /** Like `continue`, but the inbox has yet to note the epoch. */
  | { readonly start: 'note' }
  /** `new_epoch` keeps the rows, suspect until they are read; `empty` moves the file aside: it is another mirror's. */
  | { readonly start: 'new_epoch' | 'empty'; readonly why: string };

export function judge(mirror: MirrorPosition, inbox: InboxPosition): Verdict {
  if (mirror.isBackup) return { start: 'new_epoch', why: 'the mirror was restored from a backup' };
  if (mirror.epoch !== inbox.epoch && mirror.inboxEpoch !== inbox.epoch)
    return { start: 'empty', why: 'the mirror belongs to another inbox' };
  if (mirror.inboxSeq > inbox.lastSeq)
    return { start: 'new_epoch', why: 'the inbox is older than the mirror' };
  if (mirror.inboxSeq + 1 < inbox.firstSeq)
    return { start: 'new_epoch', why: 'the mirror is older than the inbox reaches back' };
  if (mirror.changeSeq < inbox.changeSeq)
    return { start: 'new_epoch', why: 'the mirror is older than what its readers have seen' };
  return { start: mirror.epoch === inbox.epoch ? 'continue' : 'note' };
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

/** More than the change numbers that readers can see in the second before the inbox notes them. */
const UNNOTED_CHANGES = 1_000_000;

/** Suffix of the file moved aside; only the newest is kept. */
export const ASIDE = '.aside';

export interface StartOptions {
  readonly nowMs: number;
  /** The inbox's last row when it was opened, even if it has grown since; null if the mirror has been open since. */
  readonly inboxEndSeq: number | null;
  readonly isSuspect: boolean;
}

/** @throws StoreError if the file is locked, unreachable, another program's, or without room. */
export function startMirror(path: string, inbox: Db, options: StartOptions): StartedMirror {
  const inboxAt = inboxPosition(inbox);
  return explain(path, () => startNextTo(inboxAt, path, options));
}

function startNextTo(inboxAt: InboxPosition, path: string, options: StartOptions): StartedMirror {
  const isUsed = inboxAt.lastSeq > 0 || inboxAt.changeSeq > 0;
  const found = existsSync(path) ? openFound(path, { ...options, isUsed }) : 'the mirror’s file is missing';
  let why: string;
  let kept: Db | null = null;
  let movedTo: string | null = null;
  let changeSeq = inboxAt.changeSeq;
  let inboxSeq = Math.max(0, inboxAt.firstSeq - 1);
  if (typeof found === 'string') {
    why = found;
    if (existsSync(path)) movedTo = moveAside(path);
  } else {
    const mirror = mirrorPosition(found);
    const lastSeq = options.inboxEndSeq ?? inboxAt.lastSeq;
    const verdict = judge(mirror, { ...inboxAt, lastSeq });
    if (verdict.start === 'continue' || verdict.start === 'note') {
      // Not live on the previous run's heartbeat: a downtime may have to be noted first.
      found.exec(`UPDATE service_state SET state = 'stale', state_cause = 'starting'`);
      const { epoch } = mirror;
      const noted = { why: 'the last start did not finish', epoch, changeSeq: mirror.changeSeq, movedTo };
      return { db: found, newEpoch: verdict.start === 'note' ? noted : null };
    }
    why = verdict.why;
    changeSeq = Math.max(changeSeq, mirror.changeSeq);
    if (verdict.start === 'empty') {
      found.close();
      movedTo = moveAside(path);
    } else {
      kept = found;
      if (mirror.epoch === inboxAt.epoch && mirror.inboxSeq <= lastSeq)
        inboxSeq = Math.max(inboxSeq, mirror.inboxSeq);
    }
  }
  const isFirst = kept === null && movedTo === null && changeSeq === 0;
  // A new one even then: the inbox may have been unable to note what readers saw.
  const epoch = newName();
  if (!isFirst) changeSeq += UNNOTED_CHANGES;
  const { nowMs } = options;
  // Reads may bear times of the mirror's clock, noted each second.
  const clockMs = kept?.prepare<[], number | null>('SELECT clock_ms FROM service_state').pluck().get();
  const readUntilMs = Math.max(nowMs, ...[inboxAt.clockMs, clockMs].map((ms) => (ms ?? nowMs) + 1_000));
  const trustedAfterMs = isFirst ? EARLIEST_MS : readUntilMs + REPLICA_LAG_MS;
  const begin = (db: Db): void =>
    beginEpoch(db, { epoch, changeSeq, inboxSeq, inboxEpoch: inboxAt.epoch, nowMs, trustedAfterMs });
  const db = kept === null ? createMirror(path, begin) : doneOrClosed(kept, begin);
  return { db, newEpoch: { why: isFirst ? null : why, epoch, changeSeq, movedTo } };
}

/** @returns why the file cannot be used. @throws StoreError if it may be usable later, or is another program's. */
function openFound(path: string, options: StartOptions & { readonly isUsed: boolean }): Db | string {
  let db: Db | null = null;
  try {
    db = openWriter(path);
    const found = options.isSuspect ? db.pragma('integrity_check(1)', { simple: true }) : 'ok';
    if (found !== 'ok') throw new StoreError('damaged', `${path} is damaged: ${String(found)}`);
    return db;
  } catch (error) {
    db?.close();
    // Before the first use of the inbox, a file here is not ours.
    if (!options.isUsed || !isUnusable(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

function isUnusable(error: unknown): boolean {
  return isDamage(error) || (error instanceof StoreError && ['damaged', 'newer_schema'].includes(error.kind));
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

function beginEpoch(db: Db, at: object): void {
  db.transaction(() => {
    db.prepare(
      'UPDATE mirror_state SET change_seq = @changeSeq, inbox_seq = @inboxSeq, trusted_after_ms = @trustedAfterMs',
    ).run(at);
    db.prepare(
      `UPDATE service_state SET epoch = @epoch, inbox_epoch = @inboxEpoch, is_backup = 0, alive_at_ms = NULL,
         state = 'stale', state_cause = 'starting', last_full_sync_at_ms = NULL`,
    ).run(at);
    db.prepare(
      `UPDATE runs SET state = 'failed', finished_at_ms = @nowMs, error = 'a new epoch has begun'
       WHERE state = 'running'`,
    ).run(at);
    db.exec('DELETE FROM read_failures; DELETE FROM given_up_reads; DELETE FROM deliveries');
  }).immediate();
}

function inboxPosition(inbox: Db): InboxPosition {
  const firstSeq = inbox.prepare<[], number | null>('SELECT min(seq) FROM inbox').pluck().get() ?? 0;
  return { ...readMetadata(inbox), firstSeq };
}

export function mirrorPosition(db: Db): MirrorPosition {
  const row = db
    .prepare<[], Omit<MirrorPosition, 'isBackup'> & { isBackup: number }>(
      `SELECT s.epoch AS epoch, m.inbox_seq AS inboxSeq, m.change_seq AS changeSeq, s.is_backup AS isBackup,
         s.inbox_epoch AS inboxEpoch
       FROM mirror_state m, service_state s`,
    )
    .get();
  if (row === undefined) throw new StoreError('damaged', `${db.name} has no state.`);
  return { ...row, isBackup: row.isBackup === 1 };
}

function moveAside(path: string): string {
  const to = path + ASIDE;
  removeDatabase(to);
  renameSync(path, to);
  return to;
}
