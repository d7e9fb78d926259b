/** The start rule: whether the mirror continues with its file, or begins a new epoch (docs/architecture.md#start). */
import { explainInbox, inboxEnds, readReceiver, type InboxEnds } from '../inbox/inbox-file.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import type { Db } from '../sqlite/open.ts';
import { prepareRows } from '../sqlite/prepared.ts';
import type { HandedOut } from '../inbox/mirror-note.ts';

/** The position of the mirror's file in its inbox and in its feed. */
export interface MirrorPosition extends HandedOut {
  /** The inbox that it follows; null before its first start. */
  readonly inboxId: string | null;
  /** The last applied row of the inbox, and its arrival; null if none was applied. */
  readonly inboxSeq: number;
  readonly inboxRowAtMs: number | null;
  /** Own clock at the last heartbeat or start, epoch ms. */
  readonly clockMs: number | null;
  /** The receiver may delete rows of the inbox up to this one. */
  readonly prunableSeq: number;
  /** Written by `backup`, and not started since. */
  readonly isBackup: boolean;
}

export interface InboxPosition extends InboxEnds {
  readonly inboxId: string;
  /** Arrival of the row that the mirror applied last; null if the inbox has no such row. */
  readonly appliedRowAtMs: number | null;
  /** Latest arrival of the rows that the mirror has not applied; null if it has applied all. */
  readonly latestUnappliedAtMs: number | null;
  /** Own clock when this was read, epoch ms. Rows may have arrived while the mirror's file was opened. */
  readonly readAtMs: number;
}

/** After a boot, the clock continues a second after the receiver's last reading, and the mirror's may be as much younger. */
export const CLOCK_BACK_MS = 1_000;

/** The clock was wrong when it showed `atMs`. */
export function wasClockAhead(atMs: number | null, nowMs: number): boolean {
  return atMs !== null && atMs > nowMs + CLOCK_BACK_MS;
}

/**
 * @param nowMs own clock before the mirror's file was opened: what the file holds was stamped before.
 * @returns why a new epoch begins, or null if the mirror continues.
 */
export function whyNewEpoch(
  mirror: MirrorPosition,
  inbox: InboxPosition,
  handedOut: HandedOut | null,
  nowMs: number,
): string | null {
  if (mirror.isBackup) return 'the mirror was restored from a backup';
  if (wasClockAhead(mirror.clockMs, nowMs))
    return 'the machine’s clock was ahead when the mirror wrote its rows';
  if (mirror.inboxId === null) return 'the mirror has not been started before';
  if (mirror.inboxId !== inbox.inboxId) return 'the mirror belongs to another inbox';
  if (mirror.inboxSeq > inbox.lastSeq) return 'the inbox is older than the mirror';
  if (mirror.inboxSeq + 1 < inbox.firstSeq) return 'the mirror is older than the inbox reaches back';
  if (mirror.inboxRowAtMs !== null && mirror.inboxRowAtMs !== inbox.appliedRowAtMs) {
    return 'the inbox was replaced by an older copy';
  }
  // Applied, they would ask for reads at instants that may be hours away.
  if (areRowsAhead(inbox)) return 'the machine’s clock was ahead when the receiver wrote its rows';
  if (handedOut === null) return null;
  const isOlder = handedOut.epoch !== mirror.epoch || handedOut.changeSeq > mirror.changeSeq;
  return isOlder ? 'the mirror is older than what its readers have seen' : null;
}

/** The clock was ahead when the receiver wrote rows that the mirror has not applied. */
export function areRowsAhead({ latestUnappliedAtMs, readAtMs }: InboxPosition): boolean {
  return wasClockAhead(latestUnappliedAtMs, readAtMs);
}

/** @throws SqliteFault, also if a row that is not applied cannot be read. */
export function inboxPosition(inbox: Db, appliedSeq: number, now: () => number): InboxPosition {
  return explainInbox(inbox.name, () => readPosition(inbox, appliedSeq, now));
}

function readPosition(inbox: Db, appliedSeq: number, now: () => number): InboxPosition {
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
    readAtMs: now(),
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
      prunableSeq: 'service_state.inbox_prunable_seq',
      isBackup: 'service_state.is_backup',
    },
    (columns) => `SELECT ${columns} FROM mirror_state, service_state`,
  ).get();
  if (row === undefined) throw new SqliteFault('damaged', `${db.name} has no state.`);
  return { ...row, isBackup: row.isBackup === 1 };
}
