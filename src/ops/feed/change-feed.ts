/**
 * The change feed for many consumers at once. Consumers at the same number share one database query. They do not poll:
 * the writer's notice of a commit with changes wakes them together, at most every few milliseconds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedPage } from '../../mirror/queries/changes.ts';
import type { StoreReader } from '../../mirror/mirror.ts';
import type { StoreWriter } from '../../mirror/mirror.ts';

interface ChangeFeedDeps {
  readonly reader: StoreReader;
  readonly writer: Pick<StoreWriter, 'onApplied' | 'position'>;
}

/** Under load there are hundreds of commits a second; a page for each would cost too much. */
const WAKE_EVERY_MS = 25;
const PAGE_ROWS = 500;
/** Consumers that catch up are at different numbers; their pages are of no use to others. */
const PAGES_KEPT = 8;

export class ChangeFeed {
  readonly #reader: StoreReader;
  /** By the number that they begin after; all from one state of the database. */
  #pages = new Map<number, Promise<FeedPage>>();
  /** Aborted at the next news. */
  #news = new AbortController();
  #followers = 0;
  #wakes = 0;
  #waking: NodeJS.Timeout | undefined;

  constructor({ reader, writer }: ChangeFeedDeps) {
    this.#reader = reader;
    let seenSeq = writer.position.changeSeq;
    writer.onApplied(() => {
      // The heartbeat's commit adds no change, and must not end the silence after which a stream sends a comment.
      if (writer.position.changeSeq === seenSeq) return;
      seenSeq = writer.position.changeSeq;
      if (this.#followers > 0) this.#waking ??= setTimeout(() => this.#wake(), WAKE_EVERY_MS);
    });
  }

  /** Call it before `after` and `newsSince`. @returns stops following. */
  follow(): () => void {
    this.#followers += 1;
    return () => {
      this.#followers -= 1;
      if (this.#followers > 0) return;
      clearTimeout(this.#waking);
      this.#waking = undefined;
      // Without followers, commits are not watched.
      this.#pages = new Map();
    };
  }

  /** How often there was news. Take it before reading a page and wait from there afterwards, so that nothing is missed. */
  get wakes(): number {
    return this.#wakes;
  }

  /** The changes after a number, at most one page. @throws StoreError */
  after(seq: number): Promise<FeedPage> {
    const known = this.#pages.get(seq);
    if (known !== undefined) return known;
    const page = this.#reader.ask('changesAfter', { after: seq, limit: PAGE_ROWS });
    const pages = this.#pages;
    pages.set(seq, page);
    page.catch(() => pages.delete(seq));
    const [oldest = seq] = pages.keys();
    if (pages.size > PAGES_KEPT) pages.delete(oldest);
    return page;
  }

  /** @returns whether there was news since; false after the timeout or the signal. */
  async newsSince(wakes: number, withinMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#wakes === wakes) {
      const over = AbortSignal.any([signal, this.#news.signal]);
      await sleep(withinMs, undefined, { signal: over }).catch(() => undefined);
    }
    return this.#wakes !== wakes;
  }

  #wake(): void {
    this.#waking = undefined;
    this.#wakes += 1;
    this.#pages = new Map();
    this.#news.abort();
    this.#news = new AbortController();
  }
}
