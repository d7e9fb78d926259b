/**
 * Opens the mirror next to its inbox: at every start, and as the only recovery (docs/architecture.md#start).
 * new-epoch.ts decides; this file does.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { REPLICA_LAG_MS } from '../core/limits.ts';
import { explainInbox, inboxEnds } from '../inbox/inbox-file.ts';
import { readMirrorNote, writeMirrorNote, type HandedOut } from '../inbox/mirror-note.ts';
import { readMissed } from '../inbox/missed.ts';
import { hasApplicationId } from '../sqlite/application-id.ts';
import { moveAside, ownFile, removeDatabase } from '../sqlite/database-files.ts';
import { isDamage, SqliteFault } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { doneOrClosed, type Db } from '../sqlite/open.ts';
import { transact } from '../sqlite/transact.ts';
import { bringInstantsBack } from './file/instants.ts';
import { MIRROR_APPLICATION_ID } from './file/known-mirror.ts';
import { openWriter } from './file/open-writer.ts';
import { STARTING } from './file/state.ts';
import {
  areRowsAhead,
  CLOCK_BACK_MS,
  inboxPosition,
  wasClockAhead,
  mirrorPosition,
  whyNewEpoch,
} from './new-epoch.ts';
import { recallDecisions } from './decisions-note.ts';
import { FORGET_FAILURES, FORGET_UNREQUESTED } from './writer/failures.ts';

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

/** `mirror`: the whole file is checked. `inbox`: a row cannot be read, so the mirror continues after all rows. */
export type DamagedFile = 'mirror' | 'inbox';

export interface FileOpening {
  /** Own clock before the file is opened, epoch ms. */
  readonly nowMs: number;
  /** The last opening failed with damage of this file; null if it did not. */
  readonly damaged: DamagedFile | null;
}

export interface StartOptions extends FileOpening {
  /** Own clock, epoch ms: checking or migrating a large file may take minutes. */
  readonly now: () => number;
}

/** @throws SqliteFault if the file is locked, unreachable, another program's, or without room. */
export function startMirror(path: string, inbox: Db, options: StartOptions): StartedMirror {
  return explain(path, () => startNextTo(inbox, path, options));
}

function startNextTo(inbox: Db, path: string, options: StartOptions): StartedMirror {
  const handedOut = readMirrorNote(path);
  const start: Start = { inbox, path, options, handedOut };
  if (!existsSync(path)) {
    const why = handedOut === null ? null : 'the mirror’s file is missing';
    return startEmpty(start, { why, movedTo: null });
  }
  const opened = openFound(
    path,
    options,
    handedOut !== null || hasApplicationId(path, MIRROR_APPLICATION_ID),
  );
  if (typeof opened !== 'string') return startWith(opened, start);
  return startEmpty(start, { why: opened, movedTo: moveAside(path) });
}

interface Start {
  readonly inbox: Db;
  readonly path: string;
  readonly options: StartOptions;
  readonly handedOut: HandedOut | null;
}

/** Continues with a sound file, or begins a new epoch in it: its rows are kept, suspect. */
function startWith(db: Db, { inbox, path, options, handedOut }: Start): StartedMirror {
  const mirror = mirrorPosition(db);
  const why =
    options.damaged === 'inbox'
      ? 'the inbox has a row that cannot be read'
      : whyNewEpoch(mirror, inboxPosition(inbox, mirror.inboxSeq, options.now), handedOut, options.nowMs);
  if (why === null) {
    continueEpoch(db, options);
    return { db, newEpoch: null };
  }
  const changeSeq = Math.max(mirror.changeSeq, handedOut?.changeSeq ?? 0) + UNNOTED_CHANGES;
  const epoch = newEpochNextTo(inbox, { ...options, changeSeq, isFirst: false });
  doneOrClosed(db, (kept) => {
    beginEpoch(kept, epoch);
    recallDecisions(kept, path);
  });
  writeMirrorNote(path, { ...epoch, prunableSeq: 0 });
  return { db, newEpoch: { why, epoch: epoch.epoch, changeSeq, movedTo: null } };
}

/** Begins the first epoch, or one after a file that is lost. @param why null for the first. */
function startEmpty(
  { inbox, path, options, handedOut }: Start,
  { why, movedTo }: Pick<NewEpoch, 'why' | 'movedTo'>,
): StartedMirror {
  const isFirst = why === null;
  const changeSeq = isFirst ? 0 : (handedOut?.changeSeq ?? 0) + UNNOTED_CHANGES;
  const epoch = newEpochNextTo(inbox, { ...options, changeSeq, isFirst });
  const db = createMirror(path, (created) => beginEpoch(created, epoch));
  writeMirrorNote(path, { ...epoch, prunableSeq: 0 });
  return { db, newEpoch: { why, epoch: epoch.epoch, changeSeq, movedTo } };
}

function continueEpoch(db: Db, { nowMs }: FileOpening): void {
  // Not live on the heartbeat of the run before. A kill before the first heartbeat leaves rows of this clock.
  db.prepare<[Pick<FileOpening, 'nowMs'>]>(
    `
    UPDATE service_state SET
      alive_at_ms = @nowMs,
      clock_ms = max(coalesce(clock_ms, @nowMs), @nowMs),
      ${STARTING}`,
  ).run({ nowMs });
}

/**
 * @param isUsed the file, or one before it at this path, was a mirror's.
 * @returns why the file cannot be used. @throws SqliteFault if it may be usable later, or is another program's.
 */
function openFound(path: string, { damaged }: FileOpening, isUsed: boolean): Db | string {
  let db: Db | null = null;
  try {
    db = openWriter(path);
    const verdict = damaged === 'mirror' ? db.pragma('integrity_check(1)', { simple: true }) : 'ok';
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
  const unfinished = ownFile(path, 'unfinished');
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
  /** Arrival of the store's last webhook that the new epoch skips; null if it skips none. */
  readonly skippedWebhookAtMs: number | null;
  /** 1 if the receiver was started for the first time, and no webhook has arrived since. */
  readonly isFirstStart: 0 | 1;
}

interface EpochFrom extends StartOptions {
  readonly changeSeq: number;
  /** There was no mirror at this path before. */
  readonly isFirst: boolean;
}

/**
 * Everything is read again, so the mirror continues at the inbox's end: rows before it would add nothing. The
 * first mirror applies what its receiver took while it was being opened, unless by a clock that was ahead.
 */
function newEpochNextTo(inbox: Db, from: EpochFrom): EpochBegin {
  const { nowMs, now, changeSeq } = from;
  const { firstSeq, lastSeq } = explainInbox(inbox.name, () => inboxEnds(inbox));
  const beforeFirstSeq = Math.max(0, firstSeq - 1);
  const appliesAll =
    from.isFirst && from.damaged !== 'inbox' && !areRowsAhead(inboxPosition(inbox, beforeFirstSeq, now));
  const inboxSeq = appliesAll ? beforeFirstSeq : lastSeq;
  const { inboxId, appliedRowAtMs, readAtMs } = inboxPosition(inbox, inboxSeq, now);
  // An answer to a read that was sent before the opening ended may lack a skipped row.
  const skippedUntilMs =
    appliedRowAtMs === null || wasClockAhead(appliedRowAtMs, readAtMs)
      ? readAtMs
      : Math.max(readAtMs, appliedRowAtMs);
  return {
    // A new name even for the first: an earlier file may have been deleted with its note.
    epoch: randomBytes(8).toString('hex'),
    changeSeq,
    nowMs,
    inboxId,
    inboxSeq,
    inboxRowAtMs: appliedRowAtMs,
    trustedAfterMs: skippedUntilMs + REPLICA_LAG_MS,
    ...wayInOf(inbox, inboxSeq),
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
    // A webhook in the inbox shows that the store's reach this host. After a damaged inbox, a kept file says so.
    db.prepare<[EpochBegin]>(
      `
      UPDATE mirror_state SET
        way_in = CASE
          WHEN way_in = 'missing' THEN way_in
          WHEN @isFirstStart THEN 'unproven'
          WHEN way_in_since_ms = 0 AND @skippedWebhookAtMs IS NOT NULL THEN 'proven'
          ELSE way_in
        END,
        way_in_since_ms = iif(way_in = 'missing', way_in_since_ms, @nowMs),
        last_webhook_at_ms = coalesce(min(@skippedWebhookAtMs, @nowMs), last_webhook_at_ms),
        untold_json = iif(way_in = 'missing', untold_json, NULL)`,
    ).run(epoch);
    db.prepare<[EpochBegin]>(
      `
      UPDATE service_state SET
        epoch = @epoch,
        inbox_id = @inboxId,
        inbox_row_at_ms = @inboxRowAtMs,
        inbox_prunable_seq = 0,
        is_backup = 0,
        alive_at_ms = @nowMs,
        clock_ms = @nowMs,
        ${STARTING},
        last_full_sync_at_ms = NULL`,
    ).run(epoch);
    db.prepare<[EpochBegin]>(
      `
      UPDATE runs SET state = 'failed', finished_at_ms = @nowMs, error = 'a new epoch has begun'
      WHERE state = 'running'`,
    ).run(epoch);
    db.exec(FORGET_FAILURES);
    db.exec(FORGET_UNREQUESTED);
    db.exec('DELETE FROM deliveries');
  });
}

function wayInOf(inbox: Db, upToSeq: number): Pick<EpochBegin, 'skippedWebhookAtMs' | 'isFirstStart'> {
  const lastAtMs = inbox
    .prepare<[number], number>(
      `SELECT arrived_at_ms FROM inbox WHERE kind = 'delivery' AND seq <= ? ORDER BY seq DESC LIMIT 1`,
    )
    .pluck()
    .get(upToSeq);
  if (lastAtMs !== undefined) return { skippedWebhookAtMs: lastAtMs, isFirstStart: 0 };
  const missed = inbox.prepare<[], Buffer>(`SELECT body FROM inbox WHERE kind = 'missed'`).pluck().all();
  const isFirst = missed.some((body) => readMissed(body, 0).why === 'first_start');
  return { skippedWebhookAtMs: null, isFirstStart: isFirst ? 1 : 0 };
}
