/**
 * Whether the event log at its path continues the history that was served from there
 * (docs/architecture.md#epoch). If it does not, the same numbers would be given out a second time with another
 * meaning: so a new epoch begins, its numbers are above all that were given out, and everything is read again.
 */
import { randomBytes } from 'node:crypto';
import { encodeEpoch } from './encode-epoch.ts';
import type { EventLog, LogHistory, NewEpoch } from './event-log.ts';
import { findFile, isAnotherFile, type FoundFile } from '../sqlite/file-identity.ts';
import {
  highWaterMarkNews,
  readHighWaterMark,
  type FoundHighWaterMark,
  type HighWaterMarkNews,
} from './high-water-mark.ts';
import { lookUpPosition, type MirrorPosition } from './mirror-position.ts';
import type { AsideNews } from './set-aside.ts';

/** Worth a person's attention. */
export type HistoryNews = HighWaterMarkNews | EpochNews | AsideNews;

export interface EpochNews {
  readonly type: 'new_epoch';
  readonly message: string;
  readonly why: string;
  readonly epoch: string;
  readonly epochBefore: string;
  /** The new epoch's numbers are above this one. */
  readonly lastSeq: number;
}

/** What the event log says of itself. */
export interface LogPosition extends Pick<LogHistory, 'epoch' | 'began' | 'file'> {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** It makes the mirror alone; only looked at when there is none. */
  readonly makesMirror: boolean;
}

/** @returns why the history has restarted; null when it continues. */
export function whyRestarted(
  log: LogPosition,
  found: FoundFile,
  mark: FoundHighWaterMark | null,
  mirror: MirrorPosition | null,
): string | null {
  if (log.file !== null && isAnotherFile(log.file, found)) {
    return 'the event log is another file than the one served before';
  }
  const why = whyUnfit(log, mirror);
  if (why !== null) return why;
  // No proof of anything: the mark could not be written, or was deleted.
  if (mark === null) return null;
  if (log.epoch !== mark.epoch) {
    // It was looked at when the epoch began, which the mirror has yet to apply.
    if (mirror !== null && comesToEpoch(log, mirror) && log.began?.epochBefore === mark.epoch) return null;
    // Each epoch begins above the one before, so a mark of an earlier one is never ahead.
    return mirror === null || mark.changeSeq > mirror.changeSeq ? OLDER : null;
  }
  if (log.lastSeq < mark.logSeq) return OLDER;
  const markFile = { ...mark.foundFile, isBirthKnown: found.isBirthKnown };
  return isAnotherFile(mark.file, markFile) ? 'event log and high-water mark were copied together' : null;
}

const OLDER = 'the event log is older than what was served from it';

/** The event log does not lead to this mirror, or from it. */
function whyUnfit(log: LogPosition, mirror: MirrorPosition | null): string | null {
  return mirror === null ? whyUnmade(log) : whyApart(log, mirror);
}

/** There is no mirror: it is made from the event log, if that goes back to its beginning and lacks nothing. */
function whyUnmade(log: LogPosition): string | null {
  if (log.firstSeq > 1) return 'the mirror is gone, and the event log does not go back to its beginning';
  return log.makesMirror ? null : 'the mirror is gone, and it held what an earlier event log was lost with';
}

function whyApart(log: LogPosition, mirror: MirrorPosition): string | null {
  if (comesToEpoch(log, mirror)) return whyNotReached(log, mirror);
  if (mirror.epoch !== log.epoch) return 'the mirror and the event log belong to different histories';
  if (mirror.appliedSeq > log.lastSeq) return OLDER;
  return mirror.appliedSeq + 1 < log.firstSeq ? SHORT : null;
}

const SHORT = 'the mirror is older than the event log goes back';

/** With other rows than the epoch began with, it would show another history than has been served since. */
function whyNotReached({ began, firstSeq }: LogPosition, { appliedSeq }: MirrorPosition): string | null {
  const { low, high } = began?.reachedFrom ?? { low: 0, high: 0 };
  if (appliedSeq < low || appliedSeq > high) return 'the mirror is not the one that the epoch began with';
  // The one mirror that the entries before the epoch do not lead to goes on without them.
  const neededSeq = low > 0 ? (began?.seq ?? 0) : appliedSeq + 1;
  return firstSeq > neededSeq ? SHORT : null;
}

/** The entry that began the epoch is in the event log, and the mirror has yet to apply it: it asks for everything anew. */
function comesToEpoch({ began }: LogPosition, mirror: MirrorPosition): boolean {
  return began !== null && began.epochBefore === mirror.epoch && began.seq > mirror.appliedSeq;
}

interface HistoryArgs {
  /** Of the event log. */
  readonly path: string;
  readonly databasePath: string;
  readonly nowMs: number;
  /** The event log has been open since it was last looked at: only the mirror may be another. */
  readonly isServing?: boolean;
}

/**
 * To be called before anything is appended, and when the mirror is no longer the one that was open.
 *
 * @returns what a person should know. A mark that cannot be read is no reason not to start.
 * @throws SqliteError when the new epoch cannot be committed.
 */
export function takeUpHistory(log: EventLog, args: HistoryArgs): HistoryNews[] {
  const found = lookAround(log, args);
  const { at, file, mark, mirror, news } = found;
  const why = args.isServing === true ? whyUnfit(at, mirror) : whyRestarted(at, file, mark, mirror);
  if (why === null) {
    if (at.file === null) log.recordFile(file);
    return news;
  }
  const begun = newEpoch(log, found, args.nowMs);
  log.beginEpoch(begun);
  return [...news, newsOf(begun, why)];
}

interface Found {
  readonly at: LogPosition;
  readonly history: LogHistory;
  /** The event log's own. */
  readonly file: FoundFile;
  readonly mark: FoundHighWaterMark | null;
  readonly mirror: MirrorPosition | null;
  /** No stamp in the mirror is later. */
  readonly latestMs: number;
  readonly news: HistoryNews[];
}

function lookAround(log: EventLog, { path, databasePath }: HistoryArgs): Found {
  const news: HistoryNews[] = [];
  let mark = null;
  try {
    mark = readHighWaterMark(databasePath);
  } catch (error) {
    news.push(highWaterMarkNews('cannot be read', databasePath, error));
  }
  const history = log.history();
  const file = findFile(path);
  const looked = lookUpPosition(databasePath);
  const { firstSeq, lastSeq } = log;
  // A mirror that cannot be read now is what it was when the mark was written, or later.
  const mirror = looked === 'unknown' ? positionOf(mark, { epoch: history.epoch, lastSeq }) : looked;
  const makesMirror = mirror !== null || log.makesMirror();
  const at: LogPosition = { ...history, firstSeq, lastSeq, makesMirror };
  const latestMs = looked === null || looked === 'unknown' ? 0 : looked.latestMs;
  return { at, history, file, mark, mirror, latestMs, news };
}

interface BegunEpoch extends NewEpoch {
  /** The number before its first one. */
  readonly givenOutSeq: number;
}

function newEpoch(log: EventLog, found: Found, nowMs: number): BegunEpoch {
  const { at, history, file, mark, mirror, latestMs } = found;
  const epoch = randomBytes(8).toString('hex');
  const givenOutSeq = Math.max(mark?.changeSeq ?? 0, mirror?.changeSeq ?? 0);
  // The clock may have been set back since: the mirror's reads would seem to come from the future, and no other to be newer.
  const atMs = Math.max(nowMs, history.aliveAtMs ?? 0, history.lastAtMs ?? 0, latestMs);
  const appliedSeq = mirror?.appliedSeq ?? 0;
  const afterSeq = Math.max(log.lastSeq, mark?.logSeq ?? 0, appliedSeq);
  const epochBefore = mirror?.epoch ?? history.epoch;
  const isReached = whyUnfit(at, mirror) === null;
  const reachedFrom = isReached ? { low: 0, high: at.lastSeq } : { low: appliedSeq, high: appliedSeq };
  const entry = encodeEpoch({ kind: 'epoch', atMs, givenOutSeq, epoch, reachedFrom });
  return { epoch, epochBefore, file, entry, afterSeq, givenOutSeq };
}

function newsOf({ epoch, epochBefore, givenOutSeq }: BegunEpoch, why: string): EpochNews {
  return {
    type: 'new_epoch',
    message:
      'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect',
    why,
    epoch,
    epochBefore,
    lastSeq: givenOutSeq + 1,
  };
}

function positionOf(
  mark: FoundHighWaterMark | null,
  log: Pick<LogPosition, 'epoch' | 'lastSeq'>,
): MirrorPosition {
  if (mark === null) return { epoch: log.epoch, appliedSeq: log.lastSeq, changeSeq: 0 };
  return { epoch: mark.epoch, appliedSeq: mark.logSeq, changeSeq: mark.changeSeq };
}
