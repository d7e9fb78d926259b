/**
 * Searches for the products of variants that only deliveries
 * have named (docs/architecture.md#unknown-variants).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../core/limits.ts';
import type { SearchFacts } from '../mirror/queries/searches.ts';
import { PAGE, readRows } from './list-reader.ts';
import type { ReadingDeps } from './product-reader.ts';

interface LookupDeps extends ReadingDeps {
  /** Begins to list the whole catalogue, reading only products that the mirror does not know. */
  readonly beginSearch: () => Promise<unknown>;
}

const BY_EDIT = { sort_by: 'update_time', sort_order: 'desc' } as const;
const PAGE_EVERY_MS = 60_000;
/** The reads of a page may take this long before the list is searched. */
const PAGE_READS_MS = 60_000;
/** Lists cost no more than one page of them in this time: 100,000 products are listed once an hour. */
const LISTED_PAGE_EVERY_MS = 3_600;
const AFTER_FAILURE_MS = 5_000;

/**
 * `page`: the products edited last. `list`: products that the mirror does not know. `missed`: variants that no product
 * has shown. Scheduled reads show every product.
 */
type Step = 'page' | 'list' | 'missed';

/** Decides for all unknown variants together, so that many of them cost no more than one. */
export function nextStep(
  facts: SearchFacts,
  { nowMs, pagedFromMs }: { readonly nowMs: number; readonly pagedFromMs: number },
): Step | null {
  const { latestMs, firstUnlistedMs } = facts;
  if (facts.missed.length > 0) return 'missed';
  if (latestMs !== null && latestMs > pagedFromMs && nowMs >= pagedFromMs + PAGE_EVERY_MS) return 'page';
  const isUnlisted = firstUnlistedMs !== null && nowMs >= firstUnlistedMs + PAGE_READS_MS;
  const isListDue = !facts.isListing && nowMs >= facts.searchedAtMs + listPauseMs(facts.products);
  return (isUnlisted || facts.isRemovalUnlisted) && isListDue ? 'list' : null;
}

function listPauseMs(products: number): number {
  return Math.max(PAGE_EVERY_MS, Math.ceil(products / PAGE) * LISTED_PAGE_EVERY_MS);
}

export class Lookups {
  readonly #deps: LookupDeps;
  readonly #signal: AbortSignal;
  /** A restart repeats the page, which costs one request: products already read are not read again. */
  #pagedFromMs = EARLIEST_MS;
  #underWay: Promise<void> | null = null;

  constructor(deps: LookupDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Takes the next step unless one is under way. To be called often. @throws SqliteFault */
  async check(): Promise<void> {
    if (this.#underWay !== null) return;
    const { mirror, now } = this.#deps;
    const nowMs = now();
    const facts = await mirror.ask('searchFacts', { nowMs });
    if (facts === null) return;
    // After a step back of the clock, a page from before it would seem to be newer than every variant.
    if (this.#pagedFromMs > nowMs) this.#pagedFromMs = EARLIEST_MS;
    const step = nextStep(facts, { nowMs, pagedFromMs: this.#pagedFromMs });
    if (step === null) return;
    this.#underWay = this.#take(step, facts).finally(() => (this.#underWay = null));
  }

  async ended(): Promise<void> {
    await this.#underWay;
  }

  /** Never rejects. */
  async #take(step: Step, facts: SearchFacts): Promise<void> {
    try {
      switch (step) {
        case 'page':
          await this.#page(facts.latestMs ?? EARLIEST_MS);
          break;
        case 'list':
          await this.#deps.beginSearch();
          break;
        case 'missed':
          await this.#miss(facts);
          break;
      }
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#deps.log.error(
        { err: error, step },
        'the search for the products of unknown variants failed and is repeated later; ' +
          'until then their rows are suspect',
      );
      await sleep(AFTER_FAILURE_MS, undefined, { signal: this.#signal }).catch(() => undefined);
    }
  }

  /** @param latestMs the last variant was named then. */
  async #page(latestMs: number): Promise<void> {
    const { mirror, now } = this.#deps;
    const fromMs = now();
    const first = { offset: 0, limit: PAGE };
    const { rows, sentAtMs } = await readRows(this.#deps, BY_EDIT, first, this.#signal);
    const productIds = await mirror.ask('unreadSince', {
      productIds: rows.map(({ id }) => id),
      sinceMs: latestMs + REPLICA_LAG_MS,
    });
    if (productIds.length > 0) {
      await mirror.append({ kind: 'listed', atMs: now(), sentAtMs, productIds, lookup: true });
    }
    this.#pagedFromMs = fromMs;
  }

  async #miss({ missed, sweptFromMs }: SearchFacts): Promise<void> {
    const { mirror, now } = this.#deps;
    await mirror.append({
      kind: 'lookup_missed',
      atMs: now(),
      sentAtMs: sweptFromMs,
      variantIds: missed,
    });
  }
}
