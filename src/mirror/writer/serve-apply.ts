/** The apply thread: commits transactions (applier.ts), and ends on the first fault it cannot apply past. */
import { rmSync, statSync } from 'node:fs';
import { inboxPath, openInboxReader } from '../../inbox/inbox-file.ts';
import { readMirrorNote, writeMirrorNote } from '../../inbox/mirror-note.ts';
import { holdFiles } from '../../sqlite/held-files.ts';
import { lockDatabase } from '../../sqlite/lock.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import type { Answering, Request } from '../../sqlite/worker.ts';
import { isDamage, plainError, SqliteFault, type PlainError } from '../../sqlite/errors.ts';
import { mirrorPosition } from '../new-epoch.ts';
import { noteDecision } from '../decisions-note.ts';
import { STOPPED } from '../file/state.ts';
import { startMirror, type DamagedFile, type NewEpoch, type StartOptions } from '../start.ts';
import { Applier, type AppliedInput, type NewInput, type AppliedPosition, type Task } from './applier.ts';
import type { CommandName } from './commands.ts';

export type ApplyCalls = {
  arrived: { args: undefined; result: undefined };
  input: { args: NewInput; result: AppliedInput };
  command: { args: { readonly name: CommandName; readonly args: unknown }; result: unknown };
  close: { args: undefined; result: undefined };
  end: { args: undefined; result: undefined };
};

export type ApplyEvent =
  | { readonly type: 'opened'; readonly position: AppliedPosition; readonly newEpoch: NewEpoch | null }
  /** Posted after each transaction, before the replies. */
  | {
      readonly type: 'applied';
      readonly position: AppliedPosition;
      readonly reports: readonly AppliedInput[];
    }
  | { readonly type: 'failed'; readonly error: PlainError; readonly damaged: DamagedFile | null };

export interface OwnMirror {
  readonly db: Db;
  readonly applier: Applier;
  readonly newEpoch: NewEpoch | null;
  /** Called about once a second. @throws Error when a file is gone or has shrunk, or the note cannot be replaced. */
  readonly check: () => void;
  /** Call after each transaction. @throws Error if the note cannot be written. */
  readonly noteDecisions: (reports: readonly AppliedInput[]) => void;
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
    // Held before it is opened, because the opening of the mirror may take minutes.
    const inboxFile = holdFiles([inboxPath(path)], {
      wasGone:
        'was replaced, by a receiver that found it damaged or by another program: the mirror opens the new one, and reads everything',
    });
    const inbox = openInboxReader(path);
    opened.push(inbox);
    const { db: mirror, newEpoch } = startMirror(path, inbox, options);
    // A read-only connection that is closed last leaves -wal and -shm, which readers without write access to the folder
    // need.
    const keepsSideFiles = openReader(path);
    opened.unshift(mirror, keepsSideFiles);
    keepsSideFiles.prepare('SELECT 1 FROM mirror_state').get();
    // A deleted write-ahead log is still open: save its content into the file.
    const sideFiles = holdFiles([`${path}-wal`, `${path}-shm`], {
      save: () => mirror.pragma('wal_checkpoint(PASSIVE)'),
    });
    const mainFile = holdFiles([path], {
      save: () => {
        // SQLite would use them for the file that replaced it.
        for (const side of sideFiles.left()) rmSync(side, { force: true });
      },
    });
    const checkSize = watchSize(path);
    const applier = new Applier(mirror, inbox);
    let noted = readMirrorNote(path);
    const note = (): void => {
      const { inboxId, ...position } = mirrorPosition(mirror);
      const isNews = position.changeSeq !== noted?.changeSeq || position.prunableSeq !== noted.prunableSeq;
      if (!isNews || inboxId === null) return;
      noted = { ...position, inboxId };
      writeMirrorNote(path, noted);
    };
    return {
      db: mirror,
      applier,
      newEpoch,
      check: () => {
        mainFile.check();
        sideFiles.check();
        inboxFile.check();
        checkSize();
        note();
      },
      noteDecisions: (reports) => {
        for (const { facts } of reports) {
          for (const fact of facts) if (fact.kind === 'removals_allowed') noteDecision(path, fact);
        }
      },
      close: ({ isOrderly }) => {
        try {
          if (!isOrderly) return;
          mirror.exec(`UPDATE service_state SET ${STOPPED}`);
          note();
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

function damagedFile(error: unknown): DamagedFile | null {
  if (!isDamage(error)) return null;
  return error instanceof SqliteFault && error.kind === 'inbox_damaged' ? 'inbox' : 'mirror';
}

const CHECK_EVERY_MS = 1_000;
/** Time at a stop for the rest of the inbox. */
const CLOSE_WITHIN_MS = 1_000;

export class ApplyServer {
  readonly #owner: Answering<ApplyCalls, ApplyEvent>;
  /** null before the opening, and after a failure or the close. */
  #own: OwnMirror | null = null;
  /** Tasks that wait for a transaction, with the ids of their requests. */
  readonly #tasks: { readonly id: number; readonly task: Task }[] = [];
  /** Id of the request to close; null until it comes. */
  #closing: number | null = null;
  #checkTimer: NodeJS.Timeout | undefined;
  #checkAtMs = 0;

  constructor(owner: Answering<ApplyCalls, ApplyEvent>) {
    this.#owner = owner;
  }

  start(open: () => OwnMirror): void {
    this.#checkTimer = setInterval(() => this.#orFail(() => this.#own?.check()), CHECK_EVERY_MS);
    this.#orFail(() => {
      this.#own = open();
      const { applier, newEpoch } = this.#own;
      this.#owner.post({ event: { type: 'opened', position: applier.position, newEpoch } });
      this.#owner.onMessage((request) => this.#orFail(() => this.#serve(request)));
    });
  }

  /** Every fault ends the thread, because the start rule is the only recovery. */
  #orFail(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#closeFiles();
    this.#owner.post({ event: { type: 'failed', error: plainError(error), damaged: damagedFile(error) } });
    this.#owner.close();
  }

  #closeFiles(): void {
    clearInterval(this.#checkTimer);
    try {
      this.#own?.close({ isOrderly: false });
    } catch {
      // The start rule decides whether the file can be used.
    }
    this.#own = null;
  }

  #serve(first: Request<ApplyCalls>): void {
    this.#accept(first);
    this.#applyWaiting();
    if (this.#own !== null && this.#closing !== null) this.#close(this.#own, this.#closing);
  }

  #accept(request: Request<ApplyCalls>): void {
    const { id } = request;
    switch (request.name) {
      case 'arrived':
        this.#owner.post({ id, value: undefined });
        return;
      case 'input':
        this.#tasks.push({ id, task: { kind: 'input', input: request.args } });
        return;
      case 'command':
        this.#tasks.push({ id, task: { kind: 'command', ...request.args } });
        return;
      case 'close':
        this.#closing = id;
        return;
      case 'end':
        this.#closeFiles();
        this.#owner.close();
    }
  }

  /** Accepts waiting messages before each transaction, so that a request to close does not wait for the rest. */
  #applyWaiting(): void {
    for (;;) {
      for (let next = this.#owner.take(); next !== undefined; next = this.#owner.take()) this.#accept(next);
      if (this.#own === null) return;
      const nowMs = performance.now();
      if (nowMs >= this.#checkAtMs) {
        this.#checkAtMs = nowMs + CHECK_EVERY_MS;
        this.#own.check();
      }
      if (this.#closing !== null || !this.#step(this.#own)) return;
    }
  }

  /** One transaction. @returns false if nothing waits. */
  #step({ applier, noteDecisions }: OwnMirror): boolean {
    const step = applier.step(this.#tasks.map(({ task }) => task));
    if (step === null) return false;
    noteDecisions(step.reports);
    this.#owner.post({ event: { type: 'applied', position: applier.position, reports: step.reports } });
    for (const [i, { id }] of this.#tasks.splice(0, step.results.length).entries()) {
      const result = step.results[i] ?? { ok: false, error: new SqliteFault('closed', 'no result') };
      this.#owner.post(result.ok ? { id, value: result.value } : { id, error: plainError(result.error) });
    }
    return true;
  }

  #close(own: OwnMirror, id: number): void {
    clearInterval(this.#checkTimer);
    const untilMs = performance.now() + CLOSE_WITHIN_MS;
    while (performance.now() < untilMs && this.#step(own));
    own.close({ isOrderly: true });
    this.#own = null;
    this.#owner.post({ id, value: undefined });
    this.#owner.close();
  }
}
