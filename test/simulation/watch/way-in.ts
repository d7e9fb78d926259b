/**
 * The mirror judges the way in truly (docs/architecture.md#the-way-in). Webhooks are missing only if the store made a
 * change that none told; only a webhook of the store ends that, and a barrier comes with it; nothing else raises one.
 */
import { statSync } from 'node:fs';
import { bodyHash } from '../../../src/receiver/inbox-writer.ts';
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import type { Delivery, SentItem } from '../../../src/sandbox/network/webhooks.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { claimsOf } from '../../../src/store-api/claims.ts';
import { present } from '../../shared/present.ts';
import { StockHistory } from './stock-history.ts';

interface State {
  readonly appliedSeq: number;
  readonly wayIn: 'proven' | 'unproven' | 'missing';
  readonly trustedAfterMs: number;
  readonly unreadableAtMs: number | null;
}

interface WayInOptions {
  readonly fault: (what: string) => void;
  readonly nowMs: () => number;
  readonly service: () => SimulatedService;
  /** The store answers reads with quantities that it does not have. */
  readonly isLying: () => boolean;
  /** Answered webhooks are still on their way through the stream. */
  readonly isOnItsWay: () => boolean;
  /** How long nothing has happened but changes, losses and what strangers and proxies do. */
  readonly undisturbedMs: () => number;
  /** Rows that are trusted from now on show every change until then. */
  readonly onBarrier: (atMs: number) => void;
  readonly count: (what: string) => void;
}

/** Grace of a late webhook, less what the clocks of mirror and world may differ. */
const GRACE_MS = 5_500;
/** What disturbs the mirror may still raise a barrier so much later. */
const AFTERMATH_MS = 20_000;

export class WayInWatch {
  readonly #options: WayInOptions;
  readonly history = new StockHistory();
  readonly #told = new WeakSet<SentItem>();
  /** By the hash of its body. */
  readonly #arrivedAtMs = new Map<string, number>();
  /** What refused requests claimed. */
  readonly #claims = new Set<string>();
  /** Of the last commit, or of the file as it was opened. */
  #state: State | null = null;
  #log: Db | null = null;
  #isFileKept = true;
  /** Inode of the file that was opened last: the mirror moves a damaged file aside. */
  #file: number | null = null;
  /** Arrival of the last webhook that the mirror has applied. */
  lastWebhookAtMs: number | null = null;
  /** The last opening of the file that raised the barrier. */
  #barrierAtMs = 0;
  /** The mirror had applied the whole inbox then. */
  #appliedAllAtMs = 0;

  constructor(options: WayInOptions) {
    this.#options = options;
  }

  get wayIn(): State['wayIn'] | null {
    return this.#state?.wayIn ?? null;
  }

  happened(items: readonly SentItem[]): void {
    const { service, nowMs } = this.#options;
    for (const item of items) {
      const kind = service().truth.variant(item.id)?.kind;
      if (kind === 'own' || kind === 'assembled') this.history.add(item, nowMs());
    }
  }

  /** The host has answered it, or has written down that it was missed. */
  answered({ items, body }: Delivery, status: number, arrivedAtMs: number): void {
    for (const item of items) this.#told.add(item);
    if (status === 204) this.#arrivedAtMs.set(bodyHash(body).toString('hex'), arrivedAtMs);
  }

  refused({ body }: Delivery): void {
    for (const claim of claimsOf(body)) this.#claims.add(keyOf(claim));
  }

  /** The mirror's file was lost, or replaced by another one. */
  replaced(): void {
    this.#isFileKept = false;
  }

  appliedAll(): void {
    this.#appliedAllAtMs = this.#options.nowMs();
  }

  opened(db: Db, log: Db): void {
    const { fault, nowMs, onBarrier } = this.#options;
    const before = this.#state;
    this.#state = stateOf(db);
    this.#log = log;
    const { ino } = statSync(db.name);
    if (ino !== this.#file) this.#isFileKept = false;
    this.#file = ino;
    if (before?.wayIn === 'missing' && this.#isFileKept && this.#state.wayIn !== 'missing')
      fault(`an opening of the file has made the way in ${this.#state.wayIn}, though webhooks are missing`);
    // A new epoch comes with a barrier.
    if (before?.trustedAfterMs !== this.#state.trustedAfterMs) {
      onBarrier(nowMs());
      this.#barrierAtMs = nowMs();
    }
    this.#isFileKept = true;
  }

  committed(db: Db): void {
    const before = present(this.#state);
    const after = stateOf(db);
    if (after.appliedSeq === before.appliedSeq) return;
    this.#state = after;
    const webhook = this.#lastWebhook(before.appliedSeq, after.appliedSeq);
    if (webhook !== null) this.lastWebhookAtMs = webhook;
    this.#checkBarrier(before, after, webhook !== null);
    if (before.wayIn !== 'missing' && after.wayIn === 'missing') this.#checkMissing();
    if (before.wayIn !== 'proven' && after.wayIn === 'proven') this.#checkEnd(before, after, webhook);
  }

  #checkBarrier(before: State, after: State, hasWebhook: boolean): void {
    const { fault, nowMs, undisturbedMs, onBarrier } = this.#options;
    if (after.trustedAfterMs === before.trustedAfterMs) return;
    onBarrier(this.#appliedAllAtMs);
    const isEnd = before.wayIn !== 'proven' && hasWebhook;
    // What was missed before the mirror had applied everything is no news.
    const undisturbedUntilThenMs = undisturbedMs() - (nowMs() - this.#appliedAllAtMs);
    const isUnreadable = after.unreadableAtMs !== before.unreadableAtMs;
    if (!isEnd && !isUnreadable && undisturbedUntilThenMs > AFTERMATH_MS)
      fault(`at ${nowMs()}, everything became suspect, though the port was open all the time`);
  }

  #checkMissing(): void {
    const { fault, nowMs, count, isLying, isOnItsWay } = this.#options;
    count('webhooks proven missing');
    if (isLying() || isOnItsWay()) return;
    const afterMs = this.lastWebhookAtMs ?? Number.NEGATIVE_INFINITY;
    const untold = this.history.changes.filter(({ item }) => !this.#told.has(item));
    const isProven = untold.some(({ atMs }) => atMs > afterMs && atMs <= nowMs() - GRACE_MS);
    if (isProven) return;
    // One read confirms what a refused request claimed, whoever sent it.
    const isClaimed = untold.some(({ item: { id, warehouse_id: warehouseId } }) =>
      this.#claims.has(keyOf({ variantId: id, warehouseId, newQty: this.#qtyOf(id, warehouseId) })),
    );
    if (isClaimed) count('a claim about an earlier change was confirmed');
    else
      fault(
        `webhooks are called missing, though each change since the last one, at ${afterMs}, was told in time`,
      );
  }

  #checkEnd(before: State, after: State, webhookAtMs: number | null): void {
    const { fault, count, onBarrier } = this.#options;
    if (webhookAtMs === null)
      fault(`the way in is no longer ${before.wayIn}, without a webhook of the store`);
    // The barrier of a new epoch covers a webhook that came before it.
    const isCovered = webhookAtMs !== null && webhookAtMs <= this.#barrierAtMs;
    if (after.trustedAfterMs === before.trustedAfterMs && !isCovered)
      fault(`the way in is no longer ${before.wayIn}, and what was missed until then is not read`);
    // Not because of the barrier: the promise is the same without one.
    if (this.lastWebhookAtMs !== null) onBarrier(this.lastWebhookAtMs);
    if (before.wayIn === 'missing') count('webhooks arrive again after a proof');
  }

  /** @returns the arrival of the last webhook of the store among these inputs; null if there is none. */
  #lastWebhook(afterSeq: number, upToSeq: number): number | null {
    const body = prepared<[number, number], Buffer>(
      present(this.#log),
      `SELECT payload FROM log WHERE kind = 'delivery' AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1`,
    )
      .pluck()
      .get(afterSeq, upToSeq);
    if (body === undefined) return null;
    return this.#arrivedAtMs.get(bodyHash(body).toString('hex')) ?? this.#options.nowMs();
  }

  #qtyOf(variantId: string, warehouseId: string): number {
    const { truth } = this.#options.service();
    const level = truth.variant(variantId)?.levels.find((each) => each.warehouseId === warehouseId);
    return level === undefined ? Number.NaN : level.onHand - level.reserved;
  }
}

const keyOf = ({ variantId, warehouseId, newQty }: ReturnType<typeof claimsOf>[number]): string =>
  `${variantId}/${warehouseId} ${newQty}`;

function stateOf(db: Db): State {
  return present(
    prepared<[], State>(
      db,
      `SELECT applied_seq AS appliedSeq, way_in AS wayIn, trusted_after_ms AS trustedAfterMs,
         unreadable_at_ms AS unreadableAtMs
       FROM mirror_state`,
    ).get(),
  );
}
