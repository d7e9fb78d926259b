/**
 * The work of the projection's thread: applies what the event log has, in order, and runs the commands of the mirror
 * once everything is applied that was in the event log when they were given.
 */
import { damageOf, isBusy, isDamage, plainError, sqliteCode, type PlainError } from '../../sqlite/errors.ts';
import type { Db } from '../../sqlite/open.ts';
import type { Outcome } from '../../sqlite/outcome.ts';
import { burstPauseMs } from './burst-pause.ts';
import type { CommandInput, Projection, Report, Result } from './projection.ts';
import type { Owner } from '../../platform/thread.ts';
import type { MirrorPosition } from '../start-rule.ts';
import type { NewEpoch, OpenOptions } from './own-mirror.ts';
import type { WalNews } from './upkeep.ts';

export type ToProjection =
  /** The event log is open, and has entries up to here. */
  | ({ readonly type: 'open'; readonly lastSeq: number } & OpenOptions)
  /** The event log has entries up to here; `waiting` deliveries waited for the commit of the last ones. */
  | { readonly type: 'apply'; readonly lastSeq: number; readonly waiting: number }
  | { readonly type: 'command'; readonly command: WaitingCommand }
  | { readonly type: 'counts'; readonly id: number }
  | { readonly type: 'close' };

interface WaitingCommand extends CommandInput {
  readonly id: number;
  /** Not before this entry is applied. */
  readonly afterSeq: number;
}

export type FromProjection =
  | Opened
  | Applied
  /** Nothing could be committed: to be asked again. */
  | { readonly type: 'stuck'; readonly error: PlainError; readonly outcomes: readonly Outcome[] }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'news'; readonly news: readonly WalNews[] }
  /** The thread ends: its file is damaged, lost, or cannot be written. */
  | { readonly type: 'failed'; readonly error: PlainError; readonly isDamaged: boolean };

export interface Opened {
  readonly type: 'opened';
  readonly position: MirrorPosition;
  readonly newEpoch: NewEpoch | null;
}

/** The result of one transaction. */
export interface Applied {
  readonly type: 'applied';
  readonly appliedSeq: number;
  readonly changeSeq: number;
  readonly reports: readonly Report[];
  readonly outcomes: readonly Outcome[];
}

/** The mirror, written by this projection alone. */
export interface OwnMirror {
  readonly db: Db;
  readonly projection: Projection;
  readonly position: MirrorPosition;
  readonly newEpoch: NewEpoch | null;
  /** To be called about once a second. @returns what a person should know. @throws Error when its files are gone. */
  readonly look: () => readonly WalNews[];
  /** Says in the file that nobody keeps it from now on. */
  readonly markStopped: () => void;
  readonly close: () => void;
}

/** What is left to apply when it is asked to close may take this long; the next start applies the rest. */
const CLOSE_WITHIN_MS = 1_000;

const LOOK_EVERY_MS = 1_000;

/**
 * Serves until asked to close, or until the mirror's file fails.
 *
 * @param open throws StoreError when the mirror cannot be had.
 * @param pause stops the thread for a while.
 */
export function serveProjection(
  owner: Owner<ToProjection, FromProjection>,
  open: (options: OpenOptions) => OwnMirror,
  pause: (ms: number) => void,
): void {
  let own: OwnMirror | null = null;
  let hasEnded = false;
  const commands: WaitingCommand[] = [];
  let lastSeq = 0;
  /** Deliveries that waited for the last entries, if there came any since the transaction under way began. */
  let waiting = 0;
  let lookedAtMs = 0;
  let isClosing = false;

  const end = (): void => {
    hasEnded = true;
    clearInterval(looks);
    own?.close();
    own = null;
    owner.close();
  };
  const fail = (error: unknown): void => {
    const plain = isDamage(error) ? damageOf(error) : plainError(error);
    owner.post({ type: 'failed', error: plain, isDamaged: isDamage(error) });
    end();
  };
  const tryTo = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };
  const accept = (message: ToProjection): void => {
    switch (message.type) {
      case 'open':
        lastSeq = Math.max(lastSeq, message.lastSeq);
        tryTo(() => {
          own = open(message);
          owner.post({ type: 'opened', position: own.position, newEpoch: own.newEpoch });
        });
        return;
      case 'apply':
        lastSeq = Math.max(lastSeq, message.lastSeq);
        waiting = message.waiting;
        return;
      case 'command':
        commands.push(message.command);
        return;
      case 'counts':
        owner.post({
          type: 'outcome',
          outcome: { id: message.id, ok: true, value: own?.projection.branchCounts() ?? {} },
        });
        return;
      case 'close':
        isClosing = true;
    }
  };
  const drain = (): void => {
    for (let next = owner.take(); next !== undefined && !hasEnded; next = owner.take()) accept(next);
  };
  const dueCommands = ({ appliedSeq }: Projection): WaitingCommand[] => {
    const due = commands.findIndex(({ afterSeq }) => afterSeq > appliedSeq);
    return commands.splice(0, due === -1 ? commands.length : due);
  };
  /** @returns false when nothing can be committed now. */
  const step = (projection: Projection): boolean => {
    const due = dueCommands(projection);
    try {
      const { appliedSeq, reports, results } = projection.step(due, lastSeq);
      const outcomes = due.map(({ id }, i) => outcomeOf(id, results[i]));
      owner.post({ type: 'applied', appliedSeq, changeSeq: projection.changeSeq, reports, outcomes });
      return true;
    } catch (error) {
      const plain = plainError(error);
      const outcomes = due.map(({ id }): Outcome => ({ id, ok: false, error: plain }));
      owner.post({ type: 'stuck', error: plain, outcomes });
      if (!mayPassHere(error)) fail(error);
      return false;
    }
  };
  const look = (): void => {
    if (own === null || performance.now() - lookedAtMs < LOOK_EVERY_MS) return;
    lookedAtMs = performance.now();
    tryTo(() => {
      const news = own?.look() ?? [];
      if (news.length > 0) owner.post({ type: 'news', news });
    });
  };
  // In a burst the loop below has no end: it looks by itself.
  const looks = setInterval(look, LOOK_EVERY_MS);
  const work = ({ projection }: OwnMirror): void => {
    const beganMs = performance.now();
    while (projection.appliedSeq < lastSeq || commands.length > 0) {
      const stepMs = performance.now();
      if (isClosing && stepMs - beganMs > CLOSE_WITHIN_MS) break;
      if (!step(projection)) break;
      look();
      waiting = 0;
      drain();
      if (hasEnded) break;
      const left = lastSeq - projection.appliedSeq;
      if (!isClosing) pause(burstPauseMs({ tookMs: performance.now() - stepMs, waiting, left }));
    }
  };

  owner.onMessage((first) => {
    if (hasEnded) return;
    accept(first);
    drain();
    if (own !== null) work(own);
    if (!isClosing || hasEnded) return;
    own?.markStopped();
    end();
  });
}

/** Another program's lock and a full disk pass by themselves, and the tables can be read meanwhile. */
function mayPassHere(error: unknown): boolean {
  return isBusy(error) || sqliteCode(error) === 'SQLITE_FULL';
}

function outcomeOf(id: number, result: Result | undefined): Outcome {
  if (result === undefined) return { id, ok: false, error: { kind: 'closed', message: 'no result' } };
  return result.ok
    ? { id, ok: true, value: result.value }
    : { id, ok: false, error: plainError(result.error) };
}
