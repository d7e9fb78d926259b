/**
 * The two threads of the mirror's file. When one of them fails, both are ended and started again, and the start rule
 * decides what becomes of the file (docs/architecture.md#a-mirror-that-fails).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogClient } from '../event-log/log-client.ts';
import type { Thread } from '../platform/thread.ts';
import { asPassing, StoreError } from '../sqlite/errors.ts';
import type { Outcome } from '../sqlite/outcome.ts';
import type { ToReader } from './reader/read-loop.ts';
import type { ReaderClient } from './reader/reader-client.ts';
import type { FromProjection, ToProjection } from './writer/apply-loop.ts';
import type { ProjectionClient, ThreadFailure } from './writer/projection-client.ts';
import type { NewEpoch } from './writer/own-mirror.ts';

interface MirrorThreadsDeps {
  readonly log: LogClient;
  readonly projection: ProjectionClient;
  readonly reader: ReaderClient;
  readonly startProjection: () => Thread<ToProjection, FromProjection>;
  readonly startReader: () => Thread<ToReader, Outcome>;
  readonly onNewEpoch: (newEpoch: NewEpoch) => void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A mirror that has run for this long has not failed at its start. */
const GOOD_RUN_MS = 60_000;
/** A thread that does not end within this time hangs in a call to the system. */
const END_WITHIN_MS = 5_000;

export class MirrorThreads {
  readonly #deps: MirrorThreadsDeps;
  readonly #closing = new AbortController();
  readonly #firstTry = Promise.withResolvers<void>();
  #down: StoreError | null = null;
  #hasOpened = false;
  #running: Promise<void> | null = null;

  constructor(deps: MirrorThreadsDeps) {
    this.#deps = deps;
    this.#firstTry.promise.catch(() => undefined);
  }

  /** Why the mirror cannot be had at present; null if it can. */
  get down(): StoreError | null {
    return this.#down;
  }

  /** Resolves once the mirror is open. @throws StoreError when the first attempt failed; others follow. */
  get opened(): Promise<void> {
    return this.#firstTry.promise;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves once both threads have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    // Its end ends the other one.
    this.#deps.reader.end();
    await this.#running;
    this.#deps.projection.close();
    this.#firstTry.reject(new StoreError('closed', 'the database is closed'));
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    for (let condemned: string | null = null; !signal.aborted;) {
      const startedMs = performance.now();
      const { error, isDamaged } = await this.#once(condemned);
      if (signal.aborted) return;
      condemned = isDamaged ? error.message : null;
      this.#setDown(asPassing(error));
      this.#firstTry.reject(error);
      if (performance.now() - startedMs > GOOD_RUN_MS) pauseMs = FIRST_PAUSE_MS;
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  /** From the start of both threads to their end. @returns why they ended. */
  async #once(condemned: string | null): Promise<ThreadFailure> {
    const { log, projection, reader, startProjection, startReader, onNewEpoch } = this.#deps;
    // An older log that was put in place may have grown as far as the mirror by now.
    const endSeq = this.#hasOpened ? log.lastSeq : log.openedSeq;
    const failed = Promise.withResolvers<ThreadFailure>();
    const applying = Promise.withResolvers<unknown>();
    const reading = Promise.withResolvers<unknown>();
    const threads = [startProjection(), startReader()] as const;
    reader.start(threads[1], (why) => {
      failed.resolve(why);
      reading.resolve(undefined);
    });
    const opening = projection.start(threads[0], { lastSeq: log.lastSeq, endSeq, condemned }, (why) => {
      failed.resolve(why);
      applying.resolve(undefined);
    });
    const open = async (): Promise<void> => {
      const { position, newEpoch } = await opening;
      await log.beginEpoch(position.epoch, position.changeSeq);
      this.#hasOpened = true;
      this.#setDown(null);
      this.#firstTry.resolve();
      if (newEpoch !== null) onNewEpoch(newEpoch);
    };
    open().catch((error: unknown) => {
      failed.resolve({ error: error as StoreError, isDamaged: false });
    });
    const why = await failed.promise;
    // The writer last: it moves the write-ahead log into the file.
    reader.end();
    await ended(reading.promise, threads[1]);
    projection.end();
    await ended(applying.promise, threads[0]);
    return why;
  }

  #setDown(why: StoreError | null): void {
    this.#down = why;
    this.#deps.projection.down = why;
  }
}

async function ended(end: Promise<unknown>, thread: Pick<Thread<never, unknown>, 'stop'>): Promise<void> {
  const late = new AbortController();
  const { signal } = late;
  const stopped = sleep(END_WITHIN_MS, undefined, { signal, ref: false }).then(
    () => thread.stop(),
    () => undefined,
  );
  await Promise.race([end, stopped]);
  late.abort();
}
