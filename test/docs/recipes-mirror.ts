import { snapshotOf } from '../../src/store-api/snapshot.ts';
import { productDetailSchema } from '../../src/store-api/contract/schemas.ts';
import type { Db } from '../../src/sqlite/open.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  writerDb,
  type Item,
  type VariantDetail,
} from '../mirror/mirror-file.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Heard = readonly [
  agoMs: number,
  variant: string,
  warehouse: string,
  change: readonly [number, number],
  more: Item,
];

/** Recipes use SQLite's clock. */
class Shop {
  readonly db: Db;
  readonly #writer: DirectWriter;
  readonly #nowMs = Date.now();
  #requests = 0;

  constructor(path: string) {
    this.db = writerDb(path);
    this.#writer = new DirectWriter(this.db);
  }

  reads(agoMs: number, productId: string, found: Item | null): void {
    const sentAtMs = this.#nowMs - agoMs;
    this.#writer.append({
      kind: 'read',
      claims: [],
      atMs: sentAtMs + 40,
      productId,
      sentAtMs,
      receivedAtMs: sentAtMs + 40,
      serverDateMs: Math.floor(sentAtMs / 1_000) * 1_000,
      requestId: null,
      snapshot: found === null ? null : snapshotOf(productDetailSchema.parse(found), JSON.stringify(found)),
    });
  }

  /** @param agoMs the change's age, with its variant, warehouse, quantities and further fields. */
  hears([agoMs, variant, warehouse, change, more]: Heard): void {
    const updateTimeMs = this.#nowMs - agoMs;
    const [id = '', sku] = variant.split(' ');
    this.#requests += 1;
    this.#writer.deliver(
      delivery(
        `req-${this.#requests}`,
        item({
          id,
          sku,
          old: change[0],
          new: change[1],
          warehouse_id: warehouse,
          update_time: updateTimeMs,
          order_id: undefined,
          ...more,
        }),
      ),
      updateTimeMs + 120,
    );
  }

  lists(agoMs: number): void {
    const atMs = this.#nowMs - agoMs;
    this.#writer.append({ kind: 'list_completed', atMs, sentAtMs: atMs });
  }

  isServed(): void {
    this.#writer.command('nameWarehouses', { names: { 11: 'Bangkok' } });
    this.#writer.endRun(0, { atMs: this.#nowMs - 3 * DAY_MS + MINUTE_MS, fullSync: true });
    this.#writer.beat();
  }
}

function variant(
  [id, sku, name]: readonly [string, string, string],
  levels: VariantDetail['levels'],
  more: Item = {},
) {
  const total = levels === null ? { total: Number(more['available_qty']) } : {};
  return { id, levels, ...total, more: { sku, name, ...more } };
}

const order = (reason: string, id: string): Item => ({ reason: `order_${reason}`, order_id: id });

export function recipesMirror(): string {
  const path = newPath();
  const shop = new Shop(path);
  const red = variant(['7001', 'TS-RED-M', 'Red, M'], { 11: 12, 12: 3 });
  const blue = variant(['7002', 'TS-BLUE-L', 'Blue, L'], { 11: 2, 12: 0 });
  const sticker = variant(['7006', 'STICKER-01', 'Round'], { 11: 1 }, { allow_negative_stock: true });
  const poster = (qty: number) =>
    detail('503', [variant(['7004', 'POSTER-01', 'A2'], null, { available_qty: qty })], {
      name: 'Poster',
      parent_id: '88',
    });
  shop.reads(3 * DAY_MS, '501', detail('501', [red, blue], { name: 'T-shirt' }));
  shop.reads(
    3 * DAY_MS,
    '502',
    detail('502', [variant(['7003', 'MUG-01', 'White'], { 11: 40 })], { name: 'Mug' }),
  );
  shop.reads(3 * DAY_MS, '503', poster(7));
  shop.reads(
    3 * DAY_MS,
    '504',
    detail('504', [variant(['7005', 'CAP-01', 'Black'], { 11: 4 })], { name: 'Cap' }),
  );
  shop.reads(3 * DAY_MS, '505', detail('505', [sticker], { name: 'Sticker' }));
  const heard: readonly Heard[] = [
    [2 * DAY_MS, '7001 TS-RED-M', '11', [12, 10], order('reserved', '9001')],
    [2 * DAY_MS - 1, '7003 MUG-01', '11', [40, 39], order('reserved', '9001')],
    [5 * HOUR_MS, '7001 TS-RED-M', '11', [10, 7], order('reserved', '9002')],
    [5 * HOUR_MS - 1, '7002 TS-BLUE-L', '11', [2, 1], order('reserved', '9002')],
    [4 * HOUR_MS, '7001 TS-RED-M', '12', [3, 2], order('reserved', '9003')],
    [4 * HOUR_MS - 1, '7003 MUG-01', '11', [39, 34], order('reserved', '9004')],
    [3 * HOUR_MS, '7006 STICKER-01', '11', [1, -2], order('reserved', '9005')],
    [3 * HOUR_MS - 1, '7001 TS-RED-M', '12', [2, 3], order('canceled', '9003')],
    [3 * HOUR_MS - 2, '7004 POSTER-01', '21', [5, 4], order('reserved', '9006')],
  ];
  for (const webhook of heard) shop.hears(webhook);
  shop.reads(3 * HOUR_MS - 3 * MINUTE_MS, '503', poster(6));
  shop.reads(2 * HOUR_MS, '504', null);
  shop.lists(90 * MINUTE_MS);
  shop.reads(HOUR_MS, '504', null);
  shop.reads(
    HOUR_MS,
    '501',
    detail(
      '501',
      [
        { ...red, levels: { 11: 7, 12: 3 } },
        { ...blue, levels: { 11: 1, 12: 5 } },
      ],
      { name: 'T-shirt' },
    ),
  );
  shop.reads(HOUR_MS, '505', detail('505', [{ ...sticker, levels: { 11: -2 } }], { name: 'Sticker' }));
  shop.hears([MINUTE_MS, '7003 MUG-01', '11', [33, 30], { reason: 'user_set', user_id: '3' }]);
  shop.isServed();
  shop.db.close();
  return path;
}
