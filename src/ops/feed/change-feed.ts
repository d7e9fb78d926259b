/**
 * The change feed as many follow it at once. What one asks of the database, all who stand at the same number share; and
 * nobody polls it: the writer's news of a commit wakes them together, at most every few milliseconds.
 */
import type { FeedPage } from '../../store/queries/changes.ts';
import type { StoreReader, StoreWriter } from '../../store/store.ts';

export interface ChangeFeedDeps {
  readonly reader: StoreReader;
  readonly writer: Pick<StoreWriter, 'onAppended'>;
}

/** Commits come by the hundred a second under load; a page after each would cost more than it tells. */
const WAKE_EVERY_MS = 25;
const PAGE_ROWS = 500;
/** Those who catch up stand at numbers of their own; what they have read is of no use to the others. */
const PAGES_KEPT = 8;

export class ChangeFeed {
  readonly #reader: StoreReader;
  /** By the number that they begin after; all of one state of the database. */
  #pages = new Map<number, Promise<FeedPage>>();
  readonly #waiting = new Set<() => void>();
  #followers = 0;
  #wakes = 0;
  #waking: NodeJS.Timeout | undefined;

  constructor({ reader, writer }: ChangeFeedDeps) {
    this.#reader = reader;
    writer.onAppended(() => {
      if (this.#followers > 0) this.#waking ??= setTimeout(() => this.#wake(), WAKE_EVERY_MS);
    });
  }

  /** To be called before `after` and `newsSince` are. @returns the way to stop following. */
  follow(): () => void {
    this.#followers += 1;
    return () => {
      this.#followers -= 1;
      if (this.#followers > 0) return;
      clearTimeout(this.#waking);
      this.#waking = undefined;
      // What nobody follows changes unseen.
      this.#pages = new Map();
    };
  }

  /** How often there was news. Take it before a page, and wait from there after it, so that nothing is missed. */
  get wakes(): number {
    return this.#wakes;
  }

  /** The changes after a number, as many as fit a page. @throws StoreError */
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

  /** @returns whether there was news since; false when the time is over or the signal came first. */
  newsSince(wakes: number, withinMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#wakes !== wakes) return Promise.resolve(true);
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isNews: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(onNews);
        signal.removeEventListener('abort', onAbort);
        resolve(isNews);
      };
      const onNews = (): void => end(true);
      const onAbort = (): void => end(false);
      const timer = setTimeout(onAbort, withinMs);
      this.#waiting.add(onNews);
      signal.addEventListener('abort', onAbort);
    });
  }

  #wake(): void {
    this.#waking = undefined;
    this.#wakes += 1;
    this.#pages = new Map();
    for (const onNews of [...this.#waiting]) onNews();
  }
}
