/** The start rule: whether the file at the mirror's path is the mirror that the event log leads to. */

/** What the event log says. */
export interface LogPosition {
  readonly epoch: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The highest change number known to be handed out, in any epoch. */
  readonly changeSeq: number;
}

/** What the mirror's file says. */
export interface MirrorPosition {
  readonly epoch: string;
  /** The last entry of the event log that its tables hold. */
  readonly appliedSeq: number;
  /** The last number of the change feed. */
  readonly changeSeq: number;
  /** It was written by `backup`, and never served since. */
  readonly isBackup: boolean;
}

/** A text says why the file cannot be used. */
export type FoundMirror = 'missing' | { readonly unusable: string } | MirrorPosition;

/** @returns why the mirror begins a new epoch; null if it goes on from this file. */
export function whyNewEpoch(log: LogPosition, mirror: FoundMirror): string | null {
  if (mirror === 'missing') return 'there is no mirror';
  if ('unusable' in mirror) return mirror.unusable;
  if (mirror.isBackup) return 'the mirror is a backup';
  if (mirror.epoch !== log.epoch) return 'the mirror and the event log belong to different epochs';
  if (mirror.appliedSeq > log.lastSeq) return 'the mirror is ahead of the event log';
  if (mirror.appliedSeq + 1 < log.firstSeq) return 'the mirror is older than the event log goes back';
  if (mirror.changeSeq < log.changeSeq) return 'the mirror is older than the changes that were handed out';
  return null;
}
