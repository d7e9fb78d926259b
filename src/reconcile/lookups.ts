/** Products of variants that only deliveries have named: on the first page by latest edit, else in a scan by id. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../core/runs.ts';
import { listPage, PAGE } from './catalogue-scan.ts';
import type { ReadingDeps } from './product-reader.ts';

interface LookupDeps extends ReadingDeps {
  readonly beginScan: () => Promise<Run & { readonly joined: boolean }>;
}

/** The first search and its confirmation run at once; later ones wait longer, as a variant may have no product. */
const FREE_SEARCHES = 2;
const PAUSE_MS = 60_000;
const PAUSE_CAP_MS = 24 * 60 * 60_000;
/** A failed search shows nothing about the variants. */
const AFTER_FAILURE_MS = 5_000;
/** Pacing restarts beyond this, so that made-up ids do not fill the memory. */
const MAX_REMEMBERED = 10_000;
const CHECK_MS = 250;
const PAGE_READS_MS = 60_000;

interface Past {
  readonly searches: number;
  readonly nextAtMs: number;
}

export class Lookups {
  readonly #deps: LookupDeps;
  readonly #signal: AbortSignal;
  readonly #past = new Map<string, Past>();
  readonly #busy = new Set<string>();
  readonly #forScan = new Set<string>();
  #newest: Promise<void> | null = null;
  #scan: Promise<void> | null = null;

  constructor(deps: LookupDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  get isIdle(): boolean {
    return this.#busy.size === 0;
  }

  follow(due: readonly string[]): void {
    const ids = due.filter((id) => !this.#busy.has(id) && this.#isDue(id));
    if (ids.length > 0) {
      this.#newest ??= this.#guarded(ids, () => this.#searchNewest(ids)).finally(() => (this.#newest = null));
    }
    const left = [...this.#forScan];
    if (left.length > 0) {
      this.#scan ??= this.#guarded(left, () => this.#searchAll(left)).finally(() => (this.#scan = null));
    }
  }

  /** For an operator's request: unsuccessful searches may be repeated at once. */
  forgetPacing(): void {
    this.#past.clear();
  }

  async ended(): Promise<void> {
    await Promise.all([this.#newest, this.#scan]);
  }

  #isDue(id: string): boolean {
    return this.#deps.now() >= (this.#past.get(id)?.nextAtMs ?? 0);
  }

  async #guarded(ids: readonly string[], search: () => Promise<void>): Promise<void> {
    try {
      await search();
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#deps.log.error(
        { err: error },
        'the search for the products of unknown variants failed and is repeated later; until then their rows are suspect',
      );
      this.#release(ids, { isFutile: true });
    }
  }

  async #searchNewest(ids: readonly string[]): Promise<void> {
    const { store, now } = this.#deps;
    if (this.#past.size > MAX_REMEMBERED) this.#past.clear();
    for (const id of ids) {
      this.#busy.add(id);
      const searches = (this.#past.get(id)?.searches ?? 0) + 1;
      const pauseMs = Math.min(PAUSE_CAP_MS, PAUSE_MS * 2 ** (searches - FREE_SEARCHES));
      this.#past.set(id, { searches, nextAtMs: searches < FREE_SEARCHES ? 0 : now() + pauseMs });
    }
    const sinceMs = now();
    const latest = { limit: PAGE, offset: 0, sort_by: 'update_time', sort_order: 'desc' } as const;
    const { page } = await listPage(this.#deps, latest, this.#signal);
    const productIds = page.products.map(({ id }) => id);
    const unread = await store.reader.ask('unreadSince', { productIds, sinceMs });
    await store.writer.append({ kind: 'listed', atMs: now(), productIds: unread, lookup: true });
    while (now() < sinceMs + PAGE_READS_MS) {
      if ((await store.reader.ask('unreadSince', { productIds, sinceMs })).length === 0) break;
      await this.#wait();
    }
    const open = await store.reader.ask('stillUnmapped', { variantIds: ids });
    for (const id of open) this.#forScan.add(id);
    this.#release(ids.filter((id) => !open.includes(id)));
  }

  async #searchAll(variantIds: readonly string[]): Promise<void> {
    const { store, now, beginScan } = this.#deps;
    this.#forScan.clear();
    const run = await beginScan();
    const found = () => store.reader.ask('runById', { id: run.id });
    let ended = await found();
    for (; ended?.state === 'running'; ended = await found()) await this.#wait();
    const open = await store.reader.ask('stillUnmapped', { variantIds });
    // A product that could not be read may have the variant; an earlier run may have read its product too early.
    const isConclusive = ended?.state === 'done' && ended.failed === 0;
    if (open.length > 0 && isConclusive && !run.joined) {
      const { startedAtMs: sentAtMs } = run;
      await store.writer.append({ kind: 'lookup_missed', atMs: now(), sentAtMs, variantIds: open });
      // Confirm a first miss at once, regardless of the pacing.
      for (const id of await store.reader.ask('missedOnce', { variantIds: open })) {
        const searches = this.#past.get(id)?.searches ?? 1;
        this.#past.set(id, { searches, nextAtMs: 0 });
      }
    }
    this.#release(variantIds, { isFutile: run.joined });
  }

  async #wait(): Promise<void> {
    await sleep(CHECK_MS, undefined, { signal: this.#signal });
  }

  /** @param isFutile the search does not count. */
  #release(ids: readonly string[], { isFutile } = { isFutile: false }): void {
    const nextAtMs = this.#deps.now() + AFTER_FAILURE_MS;
    for (const id of ids) {
      this.#busy.delete(id);
      const searches = (this.#past.get(id)?.searches ?? 1) - 1;
      if (isFutile) this.#past.set(id, { searches, nextAtMs });
    }
  }
}
