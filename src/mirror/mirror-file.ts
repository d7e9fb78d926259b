/**
 * The mirror's file while the store is open. One that is damaged, deleted or replaced is closed by every thread, made
 * fit again by the event log's thread, and opened anew (docs/architecture.md#the-event-log).
 */
import { StoreError } from '../sqlite/errors.ts';
import type { LogClient } from '../event-log/log-client.ts';
import type { ApplyNews, ProjectionClient } from './writer/projection-client.ts';
import type { Refusal } from './file/refusal.ts';
import type { ReaderClient } from './reader/reader-client.ts';
import type { StoreNews } from './writer/upkeep.ts';

interface MirrorFileEvents {
  readonly onApplyNews: (news: ApplyNews) => void;
  readonly onNews: (news: StoreNews) => void;
  /** It is open again, and holds what is in the event log. */
  readonly onHealed: () => void;
}

interface MirrorFileDeps {
  readonly log: LogClient;
  readonly projection: ProjectionClient;
  readonly reader: ReaderClient;
  readonly events: MirrorFileEvents;
}

const RETRY_MS = 250;
/** What damages one file after the other is not helped by more of them, and each takes room on the disk. */
const ASIDE_EVERY_MS = 10 * 60_000;

const CANNOT_HEAL =
  'the mirror’s file cannot be made anew for now: deliveries are kept in the event log meanwhile, and it is tried again';

export class MirrorFile {
  readonly #deps: MirrorFileDeps;
  #lost: StoreError | null = null;
  #asideAtMs = Number.NEGATIVE_INFINITY;
  readonly #closed = new AbortController();

  constructor(deps: MirrorFileDeps) {
    this.#deps = deps;
  }

  /** Why it cannot be read for now; null: nothing is in the way. */
  get lost(): StoreError | null {
    return this.#lost;
  }

  /** @throws StoreError when it is not a mirror, too new, or out of reach; one that is damaged is made anew. */
  async open(): Promise<void> {
    const { projection, log } = this.#deps;
    const refusal = await projection.open(log.lastSeq);
    if (refusal?.isDamaged === false) {
      await projection.abandon(refusal.error);
      throw refusal.error;
    }
    if (refusal !== null) await this.#reopen(refusal);
  }

  /** A thread has found that it is damaged, or no longer at its path. */
  lose(why: Refusal): void {
    if (this.#lost !== null || this.#closed.signal.aborted) return;
    this.#lost = why.error;
    this.#heal(why).catch((error: unknown) => {
      // Closing ends it wherever it is; a thread that has ended has been reported.
      if (!(error instanceof StoreError)) throw error;
    });
  }

  /** Before the threads are closed. */
  close(): void {
    this.#closed.abort();
  }

  async #heal(refusal: Refusal): Promise<void> {
    const { projection, reader, log, events } = this.#deps;
    // SQLite shares what belongs to a file among the connections of a process: none may be left when it is opened anew.
    await Promise.all([reader.letGo(), projection.letGo(refusal.error)]);
    await this.#reopen(refusal);
    this.#lost = null;
    await projection.applied(log.lastSeq);
    events.onHealed();
  }

  /** Until it is open. @throws StoreError `closed` */
  async #reopen(refusal: Refusal): Promise<void> {
    for (let found: Refusal | null = refusal, told = refusal.error.message; ;) {
      found = await this.#tryToOpen(found);
      if (found === null) return;
      const { error } = found;
      if (error.message !== told) this.#deps.events.onApplyNews({ error, message: CANNOT_HEAL });
      told = error.message;
      await pause(RETRY_MS, this.#closed.signal);
    }
  }

  /** @returns null when it is open. */
  async #tryToOpen({ isDamaged, error: why }: Refusal): Promise<Refusal | null> {
    const { log, projection, events } = this.#deps;
    if (isDamaged) await pause(this.#asideAtMs + ASIDE_EVERY_MS - performance.now(), this.#closed.signal);
    try {
      const news = await log.heal({
        isDamaged,
        byHand: why.kind === 'changed_by_hand' ? why.message : null,
      });
      if (isDamaged) this.#asideAtMs = performance.now();
      news.forEach(events.onNews);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind === 'closed') throw error;
      return { error, isDamaged };
    }
    return projection.open(log.lastSeq);
  }
}

/** @throws StoreError `closed` */
async function pause(ms: number, closed: AbortSignal): Promise<void> {
  if (ms > 0 && !closed.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      closed.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    });
  }
  if (closed.aborted) throw new StoreError('closed', 'the database is closed');
}
