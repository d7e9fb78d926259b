/** The change feed (docs/http-api.md#change-feed). Consumers at the same number share one query. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedPage } from '../../mirror/queries/changes.ts';
import type { MirrorReader, MirrorWriter } from '../../mirror/mirror.ts';

interface ChangeFeedDeps {
  readonly reader: MirrorReader;
  readonly writer: Pick<MirrorWriter, 'onApplied' | 'position'>;
}

/** Under load there are hundreds of commits per second. */
const WAKE_EVERY_MS = 25;
const PAGE_ROWS = 500;
/** Consumers that catch up cannot share pages. */
const PAGES_KEPT = 8;

export class ChangeFeed {
  readonly #reader: MirrorReader;
  /** By the number they begin after; all from one state of the database. */
  readonly #pages = new Map<number, Promise<FeedPage>>();
  #news = new AbortController();

  constructor({ reader, writer }: ChangeFeedDeps) {
    this.#reader = reader;
    let seenSeq = writer.position.changeSeq;
    let waking: NodeJS.Timeout | null = null;
    writer.onApplied(() => {
      // A heartbeat adds no change, and must not reset the interval of a stream's comments.
      if (writer.position.changeSeq === seenSeq) return;
      seenSeq = writer.position.changeSeq;
      waking ??= setTimeout(() => {
        waking = null;
        this.#pages.clear();
        this.#news.abort();
        this.#news = new AbortController();
      }, WAKE_EVERY_MS).unref();
    });
  }

  /** Aborted at the next change. To miss nothing, take it before reading a page and wait for it afterwards. */
  get news(): AbortSignal {
    return this.#news.signal;
  }

  after(seq: number): Promise<FeedPage> {
    const shared = this.#pages.get(seq);
    if (shared !== undefined) return shared;
    const page = this.#reader.ask('changesAfter', { after: seq, limit: PAGE_ROWS });
    if (this.#pages.size >= PAGES_KEPT) this.#pages.clear();
    this.#pages.set(seq, page);
    page.catch(() => this.#pages.delete(seq));
    return page;
  }

  async newsWithin(news: AbortSignal, ms: number, signal: AbortSignal): Promise<boolean> {
    if (news.aborted) return true;
    await sleep(ms, undefined, { signal: AbortSignal.any([signal, news]) }).catch(() => undefined);
    return news.aborted;
  }
}

/** The next `after`. Skips numbers without a row, such as those of changed names, at the end of the feed. */
export function nextOf({ changes, hasMore, lastSeq }: FeedPage): number {
  return hasMore ? (changes.at(-1)?.seq ?? lastSeq) : lastSeq;
}

/** Tells a consumer to read all stock, then continue from its `last_seq`. */
export interface StartOver {
  readonly error: 'epoch_changed' | 'pruned' | 'ahead';
  readonly error_description: string;
  readonly epoch: string;
  readonly last_seq: number;
}

interface Standing {
  /** The consumer's last number; null to begin with the oldest change. */
  readonly after: number | null;
  /** null if the consumer compares epochs itself. */
  readonly epoch: string | null;
}

export function whyStartOver({ after, epoch }: Standing, page: FeedPage): StartOver | null {
  const because = (error: StartOver['error'], why: string): StartOver => ({
    error,
    error_description: `${why}; read all of /api/sellable, then continue from its last_seq`,
    epoch: page.epoch,
    last_seq: page.lastSeq,
  });
  if (epoch !== null && epoch !== page.epoch) {
    return because(
      'epoch_changed',
      `epoch: the mirror’s history has restarted, its epoch is now ${page.epoch}`,
    );
  }
  if (after !== null && after > page.lastSeq) {
    return because('ahead', `after: ${after} has not been issued yet, the last number is ${page.lastSeq}`);
  }
  if (after === null || after >= page.keptAfterSeq) return null;
  return because('pruned', `after: the changes from ${after} to ${page.keptAfterSeq} were pruned`);
}
