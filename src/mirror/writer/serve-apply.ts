/** The apply thread: commits transactions (applier.ts), and ends on the first fault it cannot apply past. */
import { rmSync, statSync } from 'node:fs';
import { inboxPath, openInboxReader } from '../../inbox/inbox-file.ts';
import { holdFiles } from '../../sqlite/held-files.ts';
import { lockDatabase } from '../../sqlite/lock.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import type { Answering, Request } from '../../sqlite/worker.ts';
import { isDamage, plainError, SqliteFault, type PlainError } from '../../sqlite/errors.ts';
import { noteHandedOut, readHandedOut } from '../numbers-note.ts';
import { mirrorPosition, startMirror, type NewEpoch, type StartOptions } from '../start.ts';
import { Applier, type AppliedInput, type NewInput, type Position, type Work } from './applier.ts';
import type { CommandName } from './commands.ts';

export type ApplyCalls = {
  arrived: { args: undefined; result: undefined };
  input: { args: NewInput; result: AppliedInput };
  command: { args: { readonly name: CommandName; readonly args: unknown }; result: unknown };
  close: { args: undefined; result: undefined };
};

export type ApplyEvent =
  | { readonly type: 'opened'; readonly position: Position; readonly newEpoch: NewEpoch | null }
  /** Posted after each transaction, before the replies. */
  | { readonly type: 'applied'; readonly position: Position; readonly reports: readonly AppliedInput[] }
  | { readonly type: 'failed'; readonly error: PlainError; readonly isDamage: boolean };

export interface OwnMirror {
  readonly db: Db;
  readonly applier: Applier;
  readonly newEpoch: NewEpoch | null;
  /** Called about once a second. @throws Error when a file is gone or has shrunk, or the note cannot be replaced. */
  readonly check: () => void;
  readonly close: (options: { readonly isOrderly: boolean }) => void;
}

/** Locks the mirror and opens it next to its inbox, which a receiver must have created. @throws SqliteFault */
export function openOwnMirror(path: string, options: StartOptions): OwnMirror {
  const lock = lockDatabase(path);
  const opened: Db[] = [];
  const closeAll = (): void => {
    for (const db of opened) db.close();
    lock.release();
  };
  try {
    const inbox = openInboxReader(path);
    opened.push(inbox);
    const { db: mirror, newEpoch } = startMirror(path, inbox, options);
    // A read-only connection that is closed last leaves -wal and -shm, which readers without write access to the folder
    // need.
    const keepsSideFiles = openReader(path);
    opened.unshift(mirror, keepsSideFiles);
    keepsSideFiles.prepare('SELECT 1 FROM mirror_state').get();
    // A deleted write-ahead log is still open: save its content into the file.
    const sideFiles = holdFiles([`${path}-wal`, `${path}-shm`], () =>
      mirror.pragma('wal_checkpoint(PASSIVE)'),
    );
    const mainFile = holdFiles([path], () => {
      // SQLite would use them for the file that replaced it.
      for (const side of sideFiles.left()) rmSync(side, { force: true });
    });
    const checkSize = watchSize(path);
    const inboxFile = holdFiles([inboxPath(path)], () => undefined);
    const applier = new Applier(mirror, inbox);
    let notedSeq = readHandedOut(path)?.changeSeq;
    return {
      db: mirror,
      applier,
      newEpoch,
      check: () => {
        mainFile.check();
        sideFiles.check();
        inboxFile.check();
        checkSize();
        const { changeSeq } = applier.position;
        if (changeSeq === notedSeq) return;
        noteHandedOut(path, { epoch: mirrorPosition(mirror).epoch, changeSeq });
        notedSeq = changeSeq;
      },
      close: ({ isOrderly }) => {
        try {
          if (!isOrderly) return;
          mirror.exec(`UPDATE service_state SET state = 'stale', state_cause = 'stopped'`);
          noteHandedOut(path, mirrorPosition(mirror));
          mirror.pragma('wal_checkpoint(TRUNCATE)');
        } finally {
          closeAll();
        }
      },
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}

/**
 * SQLite never shrinks a file that is not vacuumed, and reads the pages in its cache for long after another program has
 * truncated the file.
 */
function watchSize(path: string): () => void {
  let largestBytes = 0;
  const check = (): void => {
    const { size } = statSync(path);
    if (size < largestBytes) {
      throw new SqliteFault(
        'damaged',
        `${path} is damaged: another program truncated it from ${largestBytes} to ${size} bytes`,
      );
    }
    largestBytes = size;
  };
  check();
  return check;
}

type Asking = Request<ApplyCalls>;

const CHECK_EVERY_MS = 1_000;

/** Pause in a burst: without it, 10 to 20 % fewer answers a second on two cores (`npm run bench -- --only a`). */
const LONG_STEP_MS = 8;
const LONGEST_PAUSE_MS = 40;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

export function serveApply(owner: Answering<ApplyCalls, ApplyEvent>, open: () => OwnMirror): void {
  let own: OwnMirror | null = null;
  const fail = (error: unknown): void => {
    clearInterval(checks);
    try {
      own?.close({ isOrderly: false });
    } catch {
      // Report the first error.
    }
    own = null;
    owner.post({ event: { type: 'failed', error: plainError(error), isDamage: isDamage(error) } });
    owner.close();
  };
  const checks = setInterval(() => {
    try {
      own?.check();
    } catch (error) {
      fail(error);
    }
  }, CHECK_EVERY_MS);
  try {
    own = open();
    owner.post({ event: { type: 'opened', position: own.applier.position, newEpoch: own.newEpoch } });
  } catch (error) {
    fail(error);
    return;
  }

  const works: { readonly id: number; readonly work: Work }[] = [];
  let closing: number | null = null;
  let isArriving = false;
  let checkAtMs = 0;
  const accept = (request: Asking): void => {
    const { id } = request;
    switch (request.name) {
      case 'arrived':
        isArriving = true;
        owner.post({ id, value: undefined });
        return;
      case 'input':
        works.push({ id, work: { kind: 'input', input: request.args } });
        return;
      case 'command':
        works.push({ id, work: { kind: 'command', ...request.args } });
        return;
      case 'close':
        closing = id;
    }
  };
  const step = (applier: Applier): boolean => {
    const done = applier.step(works.map(({ work }) => work));
    if (done === null) return false;
    owner.post({ event: { type: 'applied', position: applier.position, reports: done.reports } });
    for (const [i, { id }] of works.splice(0, done.results.length).entries()) {
      const result = done.results[i] ?? { ok: false, error: new SqliteFault('closed', 'no result') };
      owner.post(result.ok ? { id, value: result.value } : { id, error: plainError(result.error) });
    }
    return true;
  };
  owner.onMessage((first) => {
    accept(first);
    try {
      for (;;) {
        for (let next = owner.take(); next !== undefined; next = owner.take()) accept(next);
        if (own === null) return;
        const startedMs = performance.now();
        if (startedMs >= checkAtMs) {
          checkAtMs = startedMs + CHECK_EVERY_MS;
          own.check();
        }
        if (closing !== null || !step(own.applier)) break;
        const tookMs = performance.now() - startedMs;
        if (isArriving && tookMs >= LONG_STEP_MS)
          Atomics.wait(PAUSE, 0, 0, Math.min(LONGEST_PAUSE_MS, 3 * tookMs));
        isArriving = false;
      }
      if (closing === null) return;
      clearInterval(checks);
      // Apply what is left in the inbox, as far as the time of a stop allows.
      const untilMs = performance.now() + CLOSE_WITHIN_MS;
      while (performance.now() < untilMs && step(own.applier));
      own.close({ isOrderly: true });
      own = null;
      owner.post({ id: closing, value: undefined });
      owner.close();
    } catch (error) {
      fail(error);
    }
  });
}

const CLOSE_WITHIN_MS = 1_000;
