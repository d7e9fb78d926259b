/**
 * Once a value's last change is answered, its row is right or suspect; at rest all is right except what the network
 * lost (docs/architecture.md#convergence).
 */
import { REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { bodyHash } from '../../../src/receiver/inbox-writer.ts';
import type { SimulatedService } from '../../../src/sandbox/sandbox.ts';
import type { Delivery, SentItem } from '../../../src/sandbox/network/webhooks.ts';
import { prepared } from '../../shared/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface Row {
  readonly key: string;
  readonly qty: number;
  readonly suspect: number;
}

const HIDDEN_MS = REPLICA_LAG_MS + 2_000;

export class Delivered {
  readonly #fault: (what: string) => void;
  readonly #changes = new Map<string, SentItem[]>();
  #answered = new WeakSet<SentItem>();
  /** Items that have reached the host in this epoch, with the hash of their body. */
  readonly #reached = new Map<SentItem, string>();
  readonly #beforeEpoch = new WeakSet<SentItem>();
  readonly #lost = new WeakSet<SentItem>();
  readonly #misled = new Set<string>();
  readonly #named = new Set<string>();
  readonly #hiddenUntilMs = new Map<string, number>();

  readonly #isClockUnbounded: () => boolean;

  constructor(fault: (what: string) => void, isClockUnbounded: () => boolean) {
    this.#fault = fault;
    this.#isClockUnbounded = isClockUnbounded;
  }

  happened(items: readonly SentItem[]): void {
    for (const item of items) {
      const key = `${item.id}/${item.warehouse_id}`;
      const changes = this.#changes.get(key) ?? [];
      changes.push(item);
      this.#changes.set(key, changes);
    }
  }

  lost(items: readonly SentItem[]): void {
    for (const item of items) this.#lost.add(item);
  }

  reached({ items, body }: Delivery): void {
    const hash = bodyHash(body).toString('hex');
    for (const item of items) this.#reached.set(item, hash);
  }

  /** The only disk that had them is lost. @param hashes of bodies, as hexadecimal digits. */
  excuse(hashes: readonly string[]): void {
    const lost = new Set(hashes);
    for (const [item, hash] of this.#reached) {
      if (!lost.has(hash)) continue;
      this.#answered.delete(item);
      this.#lost.add(item);
    }
  }

  answered(items: readonly SentItem[]): void {
    for (const item of items) {
      // It is in the inbox before the epoch, which begins at its end, and a repeated body is not stored again.
      if (this.#beforeEpoch.has(item)) continue;
      this.#answered.add(item);
      if (this.passesForLast(item)) this.#misled.add(`${item.id}/${item.warehouse_id}`);
    }
  }

  /**
   * After the store's clock is set back, a late change can follow in time and value; nothing shows that it is older
   * (docs/architecture.md#clock-bounds).
   */
  passesForLast(item: SentItem): boolean {
    const changes = this.#changes.get(`${item.id}/${item.warehouse_id}`) ?? [];
    const later = changes.slice(changes.indexOf(item) + 1);
    return (
      changes.includes(item) &&
      (this.#isClockUnbounded() || later.some((change) => change.update_time < item.update_time)) &&
      later.at(-1)?.new === item.old
    );
  }

  restore(): void {
    this.#answered = new WeakSet();
  }

  /** @param bodies the hashes of those that the inbox had when the epoch began. */
  onNewEpoch(bodies: ReadonlySet<string>): void {
    this.restore();
    for (const [item, hash] of this.#reached) if (bodies.has(hash)) this.#beforeEpoch.add(item);
    this.#reached.clear();
  }

  checkLevels(db: Db, service: SimulatedService): void {
    this.#checkLevels(db, service, 'silently', (change) => this.#answered.has(change));
  }

  /** Checked at rest: also values without webhooks and deliveries not answered. */
  checkRest(
    db: Db,
    service: SimulatedService,
    { isOrdered, areLevelsRead, areTotalsTrue }: Circumstances,
  ): void {
    this.#checkUnreadable(db);
    this.#checkBundles(db, service);
    this.#checkNamed(db, service);
    if (!isOrdered) return;
    this.#checkLevels(db, service, 'at rest', (change) =>
      areLevelsRead ? !this.#lost.has(change) : this.#answered.has(change),
    );
    if (areTotalsTrue) this.#checkTotals(db, service);
  }

  #checkLevels(db: Db, { truth }: SimulatedService, how: string, isDelivered: IsDelivered): void {
    const held = rows(
      db,
      `SELECT variant_id || '/' || warehouse_id AS key, available_qty AS qty, suspect FROM mirror_stock`,
    );
    for (const { variantId, warehouseId, availableQty, kind } of truth.snapshot().levels) {
      const key = `${variantId}/${warehouseId}`;
      const row = held.get(key);
      if (row?.qty === availableQty) this.#misled.delete(key);
      if (kind === 'pulled' || row === undefined || row.suspect === 1 || row.qty === availableQty) continue;
      if (!this.#misled.has(key) && this.#lastSays(key, availableQty, isDelivered))
        this.#fault(
          `${key} is ${how} ${row.qty}, and its last change, which was delivered, said ${availableQty}`,
        );
    }
  }

  #checkNamed(db: Db, { truth }: SimulatedService): void {
    const texts = (sql: string): Set<string> => new Set(prepared<[], string>(db, sql).pluck().all());
    const variants = texts('SELECT variant_id FROM mirror_variants');
    const levels = texts(`SELECT variant_id || '/' || warehouse_id FROM mirror_stock`);
    for (const { variantId, warehouseId, kind } of truth.snapshot().levels) {
      if (kind !== 'pulled' || !variants.has(variantId)) continue;
      const key = `${variantId}/${warehouseId}`;
      const isNamed = this.#changes.get(key)?.some((change) => this.#answered.has(change)) === true;
      if (isNamed && !levels.has(key)) this.#fault(`${key} has no row at rest, and was named`);
    }
  }

  /** A moved variant: removed by reads of its old product and named by a later change. */
  checkMoved(db: Db, { truth }: SimulatedService, nowMs: number): void {
    for (const { id, deleted } of truth.products) if (deleted) this.#hiddenUntilMs.set(id, nowMs + HIDDEN_MS);
    const missing = prepared<[], { readonly variantId: string; readonly isNamed: number }>(
      db,
      `SELECT variant_id AS variantId, missing_at_ms IS NOT NULL AND event_at_ms > missing_at_ms AS isNamed
       FROM variants WHERE gone_at_ms IS NULL`,
    ).all();
    for (const { variantId, isNamed } of missing) this.#named[isNamed === 1 ? 'add' : 'delete'](variantId);
    const gone = prepared<
      [],
      {
        readonly variantId: string;
        readonly productId: string;
        readonly namedAtMs: number;
        readonly isNewer: number;
      }
    >(
      db,
      `SELECT v.variant_id AS variantId, v.product_id AS productId, max(c.event_at_ms) AS namedAtMs,
         max(c.event_time_ms) >= max(c.read_lo_ms) AS isNewer
       FROM variants v JOIN stock_levels c ON c.variant_id = v.variant_id
       WHERE v.gone_at_ms IS NOT NULL AND v.product_id IS NOT NULL AND v.lookup_at_ms IS NULL
         AND NOT EXISTS (SELECT 1 FROM due_reads o WHERE o.product_id = v.product_id) GROUP BY v.variant_id`,
    ).all();
    for (const { variantId, productId, namedAtMs, isNewer } of gone) {
      if (isNewer === 0 && !this.#named.has(variantId)) continue;
      const owner = truth.variant(variantId)?.product.id;
      if (owner === undefined || owner === productId) continue;
      if (namedAtMs < (this.#hiddenUntilMs.get(owner) ?? 0)) continue;
      this.#fault(
        `${variantId} is gone, was named after a read that did not show it, is not searched for, and stands in product ${owner}`,
      );
    }
  }

  #checkTotals(db: Db, { truth }: SimulatedService): void {
    const held = rows(db, 'SELECT variant_id AS key, available_qty AS qty, suspect FROM mirror_variants');
    for (const { variantId, availableQty, kind } of truth.snapshot().variants) {
      const row = held.get(variantId);
      const variant = truth.variant(variantId);
      if (kind === 'pulled' || variant === undefined || row === undefined || row.suspect === 1) continue;
      if (row.qty === availableQty || !this.#isWhollyDelivered(db, variant)) continue;
      this.#fault(
        `the total of ${kind} ${variantId} is at rest ${row.qty}, and all that was delivered says ${availableQty}`,
      );
    }
  }

  #checkUnreadable(db: Db): void {
    const unread = prepared<[], string>(
      db,
      `SELECT product_id FROM products p WHERE gone_at_ms IS NULL AND read_at_ms <
         (SELECT max(arrived_at_ms) FROM dead_letters q
          WHERE q.variant_id IS NULL AND q.problem NOT LIKE 'unknown event%'
            AND q.arrived_at_ms < (SELECT max(read_until_ms) FROM products) - 330000)
         AND NOT EXISTS (SELECT 1 FROM due_reads o WHERE o.product_id = p.product_id)`,
    )
      .pluck()
      .all();
    for (const productId of unread) this.#fault(`product ${productId} was not read after an unreadable body`);
  }

  #checkBundles(db: Db, { truth }: SimulatedService): void {
    const find = prepared<[string, string], string>(
      db,
      `SELECT p.product_id FROM variants b JOIN products p ON p.product_id = b.product_id
       WHERE b.variant_id = ? AND b.gone_at_ms IS NULL AND p.gone_at_ms IS NULL AND p.read_at_ms <
         (SELECT max(c.recorded_at_ms) FROM changes c JOIN variants v ON v.variant_id = c.variant_id
          WHERE c.variant_id = ? AND v.bundled_by_count > 0 AND c.source = 'webhook' AND c.old_qty IS NOT NULL)`,
    ).pluck();
    for (const bundle of truth.variants) {
      for (const { variant } of bundle.kind === 'bundle' ? bundle.components : []) {
        const unread = find.get(bundle.id, variant.id);
        if (unread !== undefined) this.#fault(`bundle ${unread} was not read after ${variant.id} had moved`);
      }
    }
  }

  #isWhollyDelivered(db: Db, { levels, components, ...variant }: TruthVariant): boolean {
    if (variant.deleted || variant.product.deleted) return false;
    const found = prepared<[string], string>(
      db,
      'SELECT warehouse_id FROM stock_levels WHERE variant_id = ? AND gone_at_ms IS NULL',
    )
      .pluck()
      .all(variant.id);
    const delivered = levels.filter(
      (level) =>
        found.includes(level.warehouseId) &&
        this.#lastSays(
          `${variant.id}/${level.warehouseId}`,
          level.onHand - level.reserved,
          (change) => !this.#lost.has(change),
        ),
    );
    return (
      found.length === levels.length &&
      delivered.length === levels.length &&
      (variant.kind !== 'bundle' ||
        components.every((component) => this.#isWhollyDelivered(db, component.variant)))
    );
  }

  #lastSays(key: string, qty: number, isDelivered: IsDelivered): boolean {
    const changes = this.#changes.get(key) ?? [];
    const last = changes.at(-1);
    if (last === undefined) return true;
    return (
      last.new === qty &&
      changes.every((change) => change.update_time !== last.update_time || isDelivered(change))
    );
  }
}

interface Circumstances {
  readonly isOrdered: boolean;
  /** Otherwise only webhooks show them, and two opposite losses cancel in the total. */
  readonly areLevelsRead: boolean;
  readonly areTotalsTrue: boolean;
}

type IsDelivered = (change: SentItem) => boolean;
type TruthVariant = SimulatedService['truth']['variants'][number];

function rows(db: Db, sql: string): Map<string, Row> {
  return new Map(
    prepared<[], Row>(db, sql)
      .all()
      .map((row) => [row.key, row]),
  );
}
