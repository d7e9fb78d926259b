/**
 * The work of the projection's thread: applies what the event log has, in order, and runs the commands of the mirror
 * once everything is applied that was in the event log when they were given.
 */
import { damageOf, isDamage, plainError, StoreError, type PlainError } from '../../sqlite/errors.ts';
import type { Db } from '../../sqlite/open.ts';
import type { Outcome } from '../../sqlite/outcome.ts';
import { burstPauseMs } from './burst-pause.ts';
import type { CommandInput, Projection, Report, Result } from './projection.ts';
import type { Owner } from '../../platform/thread.ts';
import type { StoreNews } from './upkeep.ts';

export type ToProjection =
  /** What is at the mirror's path can be opened, and the event log has entries up to here. */
  | { readonly type: 'open'; readonly lastSeq: number }
  /** The mirror's file is no longer the one that was opened: to be closed, and not opened again before it is said. */
  | { readonly type: 'let_go'; readonly id: number }
  /** The event log is there, and has entries up to here; so many deliveries waited for the commit of the last ones. */
  | { readonly type: 'apply'; readonly lastSeq: number; readonly waiting: number }
  | { readonly type: 'command'; readonly command: WaitingCommand }
  | { readonly type: 'counts'; readonly id: number }
  | { readonly type: 'close'; readonly id: number };

interface WaitingCommand extends CommandInput {
  readonly id: number;
  /** Not before this entry is applied. */
  readonly afterSeq: number;
}

export type FromProjection =
  | { readonly type: 'opened'; readonly appliedSeq: number }
  | Refused
  | Lost
  | Applied
  /** Nothing could be committed: to be asked again. */
  | { readonly type: 'stuck'; readonly error: PlainError; readonly outcomes: readonly Outcome[] }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'news'; readonly news: readonly StoreNews[] }
  | { readonly type: 'closed'; readonly id: number; readonly news: readonly StoreNews[] };

/** The mirror could not be opened. */
interface Refused {
  readonly type: 'refused';
  readonly error: PlainError;
  /** Its file is no mirror any more. */
  readonly isDamaged: boolean;
}

/** The mirror's file is damaged, or no longer at its path. It is closed. */
interface Lost {
  readonly type: 'lost';
  readonly error: PlainError;
  readonly isDamaged: boolean;
  readonly outcomes: readonly Outcome[];
}

/** The result of one transaction. */
export interface Applied {
  readonly type: 'applied';
  readonly appliedSeq: number;
  readonly reports: readonly Report[];
  readonly outcomes: readonly Outcome[];
}

/** The mirror, written by this projection alone. */
export interface OwnMirror {
  readonly db: Db;
  readonly projection: Projection;
  /** To be called about once a second. @returns what a person should know. @throws Error when its files are gone. */
  readonly look: () => readonly StoreNews[];
  /** Says in the file that nobody keeps it from now on. */
  readonly markStopped: () => void;
  /** After the last commit. @returns what a person should know. */
  readonly close: () => readonly StoreNews[];
}

/** What is left to apply when it is asked to close may take this long; the next start applies the rest. */
const CLOSE_WITHIN_MS = 1_000;

const LOOK_EVERY_MS = 1_000;

/**
 * Serves until asked to close. What its code needs is loaded while the event log is opened.
 *
 * @param open called when the owner says so; throws StoreError when the mirror cannot be had. When another program
 * holds its lock, the owner is told that nothing can be done, and asks again.
 * @param pause stops the thread for a while.
 */
export function serveProjection(
  owner: Owner<ToProjection, FromProjection>,
  open: () => OwnMirror,
  pause: (ms: number) => void,
): void {
  let own: OwnMirror | null = null;
  const commands: WaitingCommand[] = [];
  let lastSeq = 0;
  /** Deliveries that waited for the last entries, if there came any since the transaction under way began. */
  let waiting = 0;
  let lookedAtMs = 0;
  let mayOpen = false;
  let lettingGo: number | null = null;
  let closing: number | null = null;

  const accept = (message: ToProjection): void => {
    switch (message.type) {
      case 'open':
        mayOpen = true;
        lastSeq = Math.max(lastSeq, message.lastSeq);
        return;
      case 'let_go':
        lettingGo = message.id;
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
        closing = message.id;
    }
  };
  const drain = (): void => {
    for (let next = owner.take(); next !== undefined; next = owner.take()) accept(next);
  };
  /** @returns null when it cannot be had now, or never. */
  const opened = (): OwnMirror | null => {
    try {
      const found = open();
      owner.post({ type: 'opened', appliedSeq: found.projection.appliedSeq });
      return found;
    } catch (error) {
      const plain = plainError(error);
      if (plain.kind === 'busy') owner.post({ type: 'stuck', error: plain, outcomes: [] });
      else {
        mayOpen = false;
        owner.post({ type: 'refused', error: plain, isDamaged: isDamage(error) });
      }
      return null;
    }
  };
  const shut = (): readonly StoreNews[] => {
    mayOpen = false;
    const found = own;
    own = null;
    return found?.close() ?? [];
  };
  const lose = (
    error: PlainError,
    { isDamaged }: { readonly isDamaged: boolean },
    outcomes: readonly Outcome[],
  ): void => {
    shut();
    owner.post({ type: 'lost', error, isDamaged, outcomes });
  };
  const letGo = (id: number): void => {
    shut();
    lettingGo = null;
    owner.post({ type: 'outcome', outcome: { id, ok: true, value: null } });
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
      owner.post({ type: 'applied', appliedSeq, reports, outcomes });
      return true;
    } catch (error) {
      const plain = isDamage(error) ? damageOf(error) : plainError(error);
      const outcomes = due.map(({ id }): Outcome => ({ id, ok: false, error: plain }));
      if (isDamage(error)) lose(plain, { isDamaged: true }, outcomes);
      else owner.post({ type: 'stuck', error: plain, outcomes });
      return false;
    }
  };
  const look = (): void => {
    if (own === null || performance.now() - lookedAtMs < LOOK_EVERY_MS) return;
    lookedAtMs = performance.now();
    try {
      const news = own.look();
      if (news.length > 0) owner.post({ type: 'news', news });
    } catch (error) {
      lose(plainError(error), { isDamaged: isDamage(error) }, []);
    }
  };
  // In a burst the loop below has no end: it looks by itself.
  const looks = setInterval(look, LOOK_EVERY_MS);
  const work = ({ projection }: OwnMirror): void => {
    const beganMs = performance.now();
    while (projection.appliedSeq < lastSeq || commands.length > 0) {
      const stepMs = performance.now();
      const isLate = closing !== null && stepMs - beganMs > CLOSE_WITHIN_MS;
      if (isLate || lettingGo !== null || !step(projection)) break;
      look();
      if (own === null) break;
      waiting = 0;
      drain();
      const left = lastSeq - projection.appliedSeq;
      if (closing === null) pause(burstPauseMs({ tookMs: performance.now() - stepMs, waiting, left }));
    }
  };

  owner.onMessage((first) => {
    accept(first);
    drain();
    if (closing === null && mayOpen && lettingGo === null) own ??= opened();
    if (own !== null) work(own);
    if (lettingGo !== null) letGo(lettingGo);
    if (closing === null) return;
    clearInterval(looks);
    const error = plainError(new StoreError('closed', 'the database is closed'));
    for (const { id } of commands) owner.post({ type: 'outcome', outcome: { id, ok: false, error } });
    own?.markStopped();
    owner.post({ type: 'closed', id: closing, news: shut() });
    owner.close();
  });
}

function outcomeOf(id: number, result: Result | undefined): Outcome {
  if (result === undefined) return { id, ok: false, error: { kind: 'closed', message: 'no result' } };
  return result.ok
    ? { id, ok: true, value: result.value }
    : { id, ok: false, error: plainError(result.error) };
}
