/**
 * Hints cost reads, and answers decide (docs/architecture.md#the-way-in). In an unusual silence the store is asked, again
 * and again, whether it has changed; and two answers that differ prove that webhooks are missing.
 */
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import type { WayInWatch } from './way-in.ts';

interface ProbedOptions {
  readonly fault: (what: string) => void;
  readonly nowMs: () => number;
  readonly service: () => SimulatedService;
  readonly wayIn: WayInWatch;
  readonly maxRps: () => number;
  /** How long nothing has happened but changes, losses and what strangers and proxies do. */
  readonly undisturbedMs: () => number;
}

interface Shown {
  /** True time at which the answer was sampled. */
  readonly atMs: number;
  readonly variantIds: readonly string[];
}

/** Two answers whose order is known, and that no webhook explains. */
interface Proof {
  readonly productId: string;
  readonly dueAtMs: number;
  /** A later one explains it. */
  readonly lastWebhookAtMs: number;
}

const REPLICA_LAG_MS = 2_000;
const GRACE_MS = 6_000;
/** The proof is drawn at a tick, and the two clocks may differ a little. */
const SLACK_MS = 4_000;
const UNUSUAL_GAPS = 10;
const FEW = 20;
const ROUNDS_OF_FEW = 3;
const MANY = 200;
const LONGEST_PAUSE_MS = 15 * 60_000;
const FIRST_PAUSE_MS = 30_000;
const LEAST_SILENCE_MS = 30_000;
/** The second probe begins 30 s after the first: 75 s from the beginning of the outage in a small store. */
const FOUND_WITHIN_MS = 40_000;
const MANY_PER_SECOND = 1;
/** What disturbs the mirror may delay reads for so much longer. */
const AFTERMATH_MS = 75_000;

export class Probed {
  readonly #options: ProbedOptions;
  /** The last answer about each product that the mirror has merged. */
  readonly #shown = new Map<string, Shown>();
  #proof: Proof | null = null;

  constructor(options: ProbedOptions) {
    this.#options = options;
  }

  merged(productId: string, sampledAtMs: number): void {
    const { nowMs, service, wayIn, undisturbedMs } = this.#options;
    const product = service().truth.product(productId);
    const before = this.#shown.get(productId);
    const variants = product?.variants.filter(({ deleted }) => !deleted) ?? [];
    this.#shown.set(productId, { atMs: sampledAtMs, variantIds: variants.map(({ id }) => id) });
    if (before === undefined || this.#proof !== null || wayIn.wayIn !== 'proven') return;
    const { lastWebhookAtMs } = wayIn;
    const isAfter = lastWebhookAtMs !== null && before.atMs > lastWebhookAtMs + REPLICA_LAG_MS + SLACK_MS;
    if (!isAfter || undisturbedMs() < nowMs() - before.atMs + AFTERMATH_MS) return;
    if (before.variantIds.some((id) => wayIn.history.differed(id, before.atMs, sampledAtMs)))
      this.#proof = { productId, dueAtMs: nowMs() + GRACE_MS + SLACK_MS, lastWebhookAtMs };
  }

  check(db: Db): void {
    const { wayIn } = this.#options;
    if (wayIn.wayIn === 'proven') {
      this.#checkProof();
      this.#checkOutage(db);
      this.#checkAges(db);
    } else this.#proof = null;
  }

  /** A barrier or another file. */
  explained(): void {
    this.#proof = null;
  }

  #checkProof(): void {
    const { fault, nowMs, wayIn, undisturbedMs } = this.#options;
    if (this.#proof === null) return;
    const isExplained = wayIn.lastWebhookAtMs !== this.#proof.lastWebhookAtMs;
    if (isExplained || undisturbedMs() < AFTERMATH_MS) this.#proof = null;
    else if (nowMs() > this.#proof.dueAtMs)
      fault(`two reads of product ${this.#proof.productId} differ, and webhooks are not called missing`);
  }

  /** Of many changes, the reads after the first seconds of an unusual silence show some. */
  #checkOutage(db: Db): void {
    const { fault, nowMs, wayIn, undisturbedMs } = this.#options;
    const { lastWebhookAtMs } = wayIn;
    if (lastWebhookAtMs === null) return;
    const silentFromMs = lastWebhookAtMs + Math.max(LEAST_SILENCE_MS, UNUSUAL_GAPS * meanGapMs(db));
    const mostMs = FOUND_WITHIN_MS + this.#probeMs(liveProducts(db).length);
    const sinceMs = Math.max(silentFromMs, nowMs() - undisturbedMs() + AFTERMATH_MS);
    if (nowMs() - sinceMs < mostMs) return;
    const untold = wayIn.history.changes.filter(({ atMs }) => atMs > sinceMs);
    if (untold.length > (mostMs / 1_000) * MANY_PER_SECOND)
      fault(`${untold.length} changes were not told since ${sinceMs}, and webhooks are not called missing`);
  }

  /** The pauses between two probes double, so an age is at most half of the silence, until the longest pause. */
  #checkAges(db: Db): void {
    const { fault, nowMs, wayIn, undisturbedMs } = this.#options;
    const { lastWebhookAtMs } = wayIn;
    if (lastWebhookAtMs === null) return;
    const silentFromMs = lastWebhookAtMs + UNUSUAL_GAPS * meanGapMs(db);
    const silentMs = nowMs() - silentFromMs;
    const ids = liveProducts(db);
    if (ids.length > MANY) return;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, (silentMs + FIRST_PAUSE_MS) / 2);
    // A probe may begin after another one, of another hint, which it finds under way.
    const mostMs = pauseMs + 3 * this.#probeMs(ids.length) + SLACK_MS;
    if (Math.min(silentMs, undisturbedMs() - AFTERMATH_MS) < mostMs) return;
    for (const id of ids) {
      const shown = this.#shown.get(id);
      if (shown !== undefined && nowMs() - shown.atMs > mostMs)
        fault(`product ${id} was last read ${shown.atMs - nowMs()} ms ago, in a silence of ${silentMs} ms`);
    }
  }

  #probeMs(products: number): number {
    const perSecond = Math.min(10, this.#options.maxRps() / 5);
    return ((ROUNDS_OF_FEW * Math.min(FEW, products) + products) / perSecond) * 1_000;
  }
}

function meanGapMs(db: Db): number {
  return prepared<[], number>(db, 'SELECT mean_gap_ms FROM mirror_state').pluck().get() ?? 0;
}

function liveProducts(db: Db): string[] {
  return prepared<[], string>(db, 'SELECT product_id FROM products WHERE gone_at_ms IS NULL').pluck().all();
}
