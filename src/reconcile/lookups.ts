/**
 * Which unknown variants are searched for, and how often. The newest products come first and are found within
 * seconds; a variant that is not among them waits for one search through the whole catalogue, which may take as long
 * as a full sync. A variant that no product has must not cause the catalogue to be read over and over.
 */
import type { Logger } from '../platform/log.ts';
import { lookUp, NOTHING, type LookupDeps } from './lookup.ts';

/**
 * Two searches are made at once, and so is each one that is to confirm a miss, however many found nothing before it.
 * All others come ever more rarely.
 */
const FREE_SEARCHES = 2;
const PAUSE_MS = 60_000;
const PAUSE_CAP_MS = 60 * 60_000;
/** After a search that failed, which shows nothing about the variants it searched for. */
const AFTER_FAILURE_MS = 5_000;
/** Beyond this many the pacing starts anew, so that made-up ids do not fill the memory. */
const MAX_REMEMBERED = 10_000;

interface Past {
  readonly searches: number;
  readonly nextAtMs: number;
}

export class Lookups {
  readonly #deps: LookupDeps & { readonly log: Logger };
  readonly #signal: AbortSignal;
  readonly #past = new Map<string, Past>();
  /** Being searched for, or waiting for the search through the whole catalogue. */
  readonly #busy = new Set<string>();
  readonly #forScan = new Set<string>();
  #search: Promise<void> | null = null;
  #scanning: Promise<void> | null = null;

  constructor(deps: LookupDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /**
   * Begins the searches that are due and not under way yet. Never rejects or throws: a search that fails is due again
   * later.
   */
  begin(due: readonly string[]): void {
    this.#search ??= this.#searchNewest(due)?.finally(() => (this.#search = null)) ?? null;
    this.#scanning ??= this.#scanEverything()?.finally(() => (this.#scanning = null)) ?? null;
  }

  /** An operator's command: variants that were searched for in vain may be searched for again at once. */
  forgetPacing(): void {
    this.#past.clear();
  }

  async ended(): Promise<void> {
    await this.#search;
    await this.#scanning;
  }

  #searchNewest(due: readonly string[]): Promise<void> | null {
    const nowMs = this.#deps.now();
    const ids = due.filter((id) => !this.#busy.has(id) && nowMs >= (this.#past.get(id)?.nextAtMs ?? 0));
    if (ids.length === 0) return null;
    if (this.#past.size > MAX_REMEMBERED) this.#past.clear();
    for (const id of ids) {
      this.#busy.add(id);
      const searches = (this.#past.get(id)?.searches ?? 0) + 1;
      const pauseMs = Math.min(PAUSE_CAP_MS, PAUSE_MS * 2 ** (searches - FREE_SEARCHES));
      const nextAtMs = searches < FREE_SEARCHES ? 0 : nowMs + pauseMs;
      this.#past.set(id, { searches, nextAtMs });
    }
    return this.#run(ids, 'newest');
  }

  #scanEverything(): Promise<void> | null {
    const ids = [...this.#forScan];
    this.#forScan.clear();
    return ids.length === 0 ? null : this.#run(ids, 'everything');
  }

  async #run(ids: readonly string[], extent: 'newest' | 'everything'): Promise<void> {
    let found = NOTHING;
    try {
      found = await lookUp(this.#deps, ids, extent, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted)
        this.#deps.log.error(
          { err: error },
          'looking up unknown variants failed: they are looked up again later; until then their rows are suspect',
        );
      this.#doNotCount(ids);
    }
    for (const id of ids) this.#busy.delete(id);
    for (const id of found.left) {
      this.#busy.add(id);
      this.#forScan.add(id);
    }
    for (const id of found.toConfirm) this.#letConfirm(id);
  }

  #letConfirm(id: string): void {
    const past = this.#past.get(id);
    if (past !== undefined) this.#past.set(id, { ...past, nextAtMs: 0 });
  }

  /** A disk that was full for a while must not delay the next hour's searches. */
  #doNotCount(ids: readonly string[]): void {
    const nextAtMs = this.#deps.now() + AFTER_FAILURE_MS;
    for (const id of ids) {
      const searches = this.#past.get(id)?.searches ?? 1;
      this.#past.set(id, { searches: searches - 1, nextAtMs });
    }
  }
}
