/** Our policy: the model of uncertainty of src/core/freshness, with its tables in memory. */
import {
  ACTIVITY_HALF_LIFE_MS,
  faded,
  RATE_CLASSES,
  type StoreActivity,
} from '../../src/core/freshness/activity.ts';
import { LossHistory } from '../../src/core/freshness/loss-history.ts';
import { overdueReads, readsIn, readsPerHour } from '../../src/core/freshness/read-budget.ts';
import {
  chooseReads,
  LEAST_MS,
  placeOf,
  type Candidate,
  type Candidates,
} from '../../src/core/freshness/read-plan.ts';
import { Events } from './events.ts';
import type { Policy, ProvenLoss } from './policy.ts';
import type { Setting } from './run.ts';
import { poisson } from './store.ts';

interface PlannedOptions {
  readonly readsPerHour: number;
  /** Proofs of loss raise the budget, and reads that are worth little are left out. */
  readonly isRaised: boolean;
  /** RECONCILE_CRON. */
  readonly everyMs: number;
  readonly longestMs?: number;
}

/** A read that finds a difference may have been ahead of a delivery: it proves a loss when none has come by then. */
const IN_TRANSIT_MS = 10_000;
const WEEK_MS = 7 * 24 * 60 * 60_000;

export function planned(options: PlannedOptions) {
  return (setting: Setting): Policy => new Planned(options, setting);
}

class Planned implements Policy {
  readonly name = 'model of doubt';
  readonly spent = { ms: 0, reads: 0 };
  readonly #options: PlannedOptions;
  readonly #losses: LossHistory;
  readonly #table: PlanTable;
  readonly #inTransit = new Map<number, { readonly sinceMs: number; readonly atMs: number }>();
  #queue: number[] = [];
  #roundAtMs: number;
  /** Of a read, left over. */
  #rest = 0;

  constructor(options: PlannedOptions, setting: Setting) {
    this.#options = options;
    this.#losses = LossHistory.begunAt(setting.startMs);
    this.#table = new PlanTable(setting);
    this.#roundAtMs = setting.startMs;
  }

  changed(product: number, atMs: number): void {
    this.#inTransit.delete(product);
    this.#table.changed(product, atMs);
    this.#losses.received(1, atMs);
  }

  wasRead(product: number): void {
    this.#table.moved(product);
  }

  proved({ product, sinceMs, by }: ProvenLoss, atMs: number): void {
    if (by === 'read') this.#inTransit.set(product, { sinceMs, atMs });
    else this.#losses.proved(sinceMs, atMs);
  }

  take(nowMs: number, free: number): number[] {
    for (const [product, { sinceMs, atMs }] of this.#inTransit) {
      if (atMs + IN_TRANSIT_MS > nowMs) break;
      this.#inTransit.delete(product);
      this.#losses.proved(sinceMs, nowMs);
    }
    if (nowMs >= this.#roundAtMs + this.#options.everyMs) this.#round(nowMs);
    return this.#queue.splice(0, free);
  }

  #round(nowMs: number): void {
    const { isRaised, readsPerHour: atRest, longestMs = WEEK_MS } = this.#options;
    const elapsedMs = nowMs - this.#roundAtMs;
    this.#roundAtMs = nowMs;
    const began = process.cpuUsage();
    const losses = this.#losses.at(nowMs);
    const perHour = isRaised ? readsPerHour(atRest, losses.provenInLastHour) : atRest;
    const most = Math.max(0, this.#rest + readsIn(elapsedMs, perHour));
    const overdue = this.#table.oldest(
      nowMs - longestMs / 2,
      overdueReads(this.#table.products, elapsedMs, longestMs),
    );
    const pending = new Set([...this.#queue, ...overdue]);
    const limit = Math.floor(most);
    this.#rest = most - limit;
    const store = this.#table.begin(nowMs, pending);
    // What is worth little is left out by default only; where budgets are compared, each is spent.
    const leastMs = isRaised ? LEAST_MS : 0;
    const { chosen, misplaced } = chooseReads(this.#table, {
      limit: Math.max(0, limit - overdue.length),
      leastMs,
      losses,
      store,
    });
    this.#table.end(misplaced);
    const { user, system } = process.cpuUsage(began);
    const reads = [...overdue, ...chosen.map(({ productId }) => Number(productId))];
    this.#queue.push(...reads);
    this.spent.ms += (user + system) / 1_000;
    this.spent.reads += reads.length;
  }
}

/** What a mirror stores of each product for the plan, and the order of each class. */
class PlanTable implements Candidates {
  readonly products: number;
  readonly #known;
  readonly #changes: Float64Array;
  readonly #rateClass: Uint8Array;
  readonly #certainAtMs: Float64Array;
  /** By when it was certain; of a product that stands elsewhere by now an entry may be left. */
  readonly #ordered = Array.from({ length: RATE_CLASSES }, () => new Events<number>());
  /** Changed or read since the last round. */
  readonly #moved = new Set<number>();
  #given: number[] = [];
  #pending: ReadonlySet<number> = new Set();
  #changesOfAll: number;
  #changesAtMs: number;
  /** In the order they were sent, from the first that can be the latest of its product. */
  readonly #reads: { readonly product: number; readonly sentAtMs: number }[];
  #firstRead = 0;

  constructor({ plan: { products }, rates, known, random, startMs }: Setting) {
    this.products = products;
    this.#known = known;
    this.#changesAtMs = startMs;
    // As if the mirror had been there for long: so many changes are left of those that came.
    const lifeS = ACTIVITY_HALF_LIFE_MS / Math.LN2 / 1_000;
    this.#changes = rates.map((rate) => poisson(rate * lifeS, random));
    this.#changesOfAll = this.#changes.reduce((sum, one) => sum + one, 0);
    known.changedAtMs.fill(startMs - 60_000);
    this.#certainAtMs = new Float64Array(products);
    this.#rateClass = new Uint8Array(products);
    this.#reads = Array.from(known.readAtMs, (sentAtMs, product) => ({ product, sentAtMs }));
    for (let product = 0; product < products; product++) this.#moved.add(product);
    this.begin(startMs, this.#pending);
  }

  get classes(): readonly number[] {
    return this.#ordered.flatMap((one, i) => (one.nextAtMs < Infinity ? [i] : []));
  }

  changed(product: number, atMs: number): void {
    const beforeMs = this.#known.changedAtMs[product] ?? 0;
    this.#changes[product] = faded(this.#changes[product] ?? 0, atMs - beforeMs) + 1;
    this.#changesOfAll = faded(this.#changesOfAll, atMs - this.#changesAtMs) + 1;
    this.#changesAtMs = atMs;
    this.#moved.add(product);
  }

  moved(product: number): void {
    this.#moved.add(product);
    const sentAtMs = this.#known.readAtMs[product] ?? 0;
    this.#reads.push({ product, sentAtMs });
  }

  /** @param pending these are to be read already. */
  begin(nowMs: number, pending: ReadonlySet<number>): StoreActivity {
    const store = { changes: faded(this.#changesOfAll, nowMs - this.#changesAtMs), products: this.products };
    for (const product of this.#moved) this.#put(this.#candidate(product), nowMs, store);
    this.#moved.clear();
    this.#pending = pending;
    return store;
  }

  next(rateClass: number): Candidate | null {
    const ordered = this.#ordered[rateClass];
    for (let event = ordered?.next(); event !== undefined; event = ordered?.next()) {
      const { what: product, atMs } = event;
      if (this.#rateClass[product] !== rateClass || this.#certainAtMs[product] !== atMs) continue;
      this.#given.push(product);
      if (!this.#pending.has(product)) return this.#candidate(product);
    }
    return null;
  }

  end(misplaced: readonly Candidate[]): void {
    for (const product of this.#given) this.#push(product);
    this.#given = [];
    for (const { productId } of misplaced) this.#moved.add(Number(productId));
  }

  oldest(beforeMs: number, limit: number): number[] {
    const found: number[] = [];
    for (let i = this.#firstRead; i < this.#reads.length && found.length < limit; i++) {
      const { product, sentAtMs } = this.#reads[i] ?? { product: 0, sentAtMs: Infinity };
      if (sentAtMs >= beforeMs) break;
      const isLatest = this.#known.readAtMs[product] === sentAtMs;
      // Read again since, it stands further back as well.
      if (!isLatest && i === this.#firstRead) this.#firstRead += 1;
      if (isLatest) found.push(product);
    }
    return found;
  }

  #candidate(product: number): Candidate {
    return {
      productId: String(product),
      changes: this.#changes[product] ?? 0,
      changedAtMs: this.#known.changedAtMs[product] ?? 0,
      readAtMs: this.#known.readAtMs[product] ?? 0,
      levels: 1,
    };
  }

  #put(candidate: Candidate, nowMs: number, store: StoreActivity): void {
    const product = Number(candidate.productId);
    const { rateClass, certainAtMs } = placeOf(candidate, nowMs, store);
    if (this.#rateClass[product] === rateClass && this.#certainAtMs[product] === certainAtMs) return;
    this.#rateClass[product] = rateClass;
    this.#certainAtMs[product] = certainAtMs;
    this.#push(product);
  }

  #push(product: number): void {
    this.#ordered[this.#rateClass[product] ?? 0]?.at(this.#certainAtMs[product] ?? 0, product);
  }
}
