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
      atMs: sentAtMs + 40,
      productId,
      s0: this.#writer.writer.s0,
      sentAtMs,
      receivedAtMs: sentAtMs + 40,
      serverDateMs: Math.floor(sentAtMs / 1_000) * 1_000,
      requestId: null,
      snapshot: found === null ? null : snapshotOf(productDetailSchema.parse(found), JSON.stringify(found)),
    });
  }

  hears({
    agoMs,
    variant,
    warehouse,
    change,
    more,
  }: {
    readonly agoMs: number;
    readonly variant: string;
    readonly warehouse: string;
    readonly change: readonly [number, number];
    readonly more: Item;
  }): void {
    const updateTimeMs = this.#nowMs - agoMs;
    const [id = '', sku] = variant.split(' ');
    this.#requests += 1;
    const told = { order_id: undefined, ...more };
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
          ...told,
        }),
      ),
      updateTimeMs + 120,
    );
  }

  isServed(): void {
    this.#writer.command('nameWarehouses', { names: { 11: 'Bangkok' } });
    this.#writer.endRun(0, { atMs: this.#nowMs - 3 * DAY_MS + MINUTE_MS, fullSync: true });
    this.#writer.command('alive', { atMs: Date.now() + MINUTE_MS, clockMs: this.#nowMs });
  }
}

function variant({
  id,
  sku,
  name,
  levels,
  more = {},
}: {
  readonly id: string;
  readonly sku: string;
  readonly name: string;
  readonly levels: VariantDetail['levels'];
  readonly more?: Item;
}) {
  const total = levels === null ? { total: Number(more['available_qty']) } : {};
  return { id, levels, ...total, more: { sku, name, ...more } };
}

const order = (reason: string, id: string): Item => ({ reason: `order_${reason}`, order_id: id });

export function recipesMirror(): string {
  const path = newPath();
  const shop = new Shop(path);
  const red = variant({ id: '7001', sku: 'TS-RED-M', name: 'Red, M', levels: { 11: 12, 12: 3 } });
  const blue = variant({ id: '7002', sku: 'TS-BLUE-L', name: 'Blue, L', levels: { 11: 2, 12: 0 } });
  const sticker = variant({
    id: '7006',
    sku: 'STICKER-01',
    name: 'Round',
    levels: { 11: 1 },
    more: { allow_negative_stock: true },
  });
  const poster = (qty: number) =>
    detail(
      '503',
      [variant({ id: '7004', sku: 'POSTER-01', name: 'A2', levels: null, more: { available_qty: qty } })],
      {
        name: 'Poster',
        parent_id: '88',
      },
    );
  shop.reads(3 * DAY_MS, '501', detail('501', [red, blue], { name: 'T-shirt' }));
  shop.reads(
    3 * DAY_MS,
    '502',
    detail('502', [variant({ id: '7003', sku: 'MUG-01', name: 'White', levels: { 11: 40 } })], {
      name: 'Mug',
    }),
  );
  shop.reads(3 * DAY_MS, '503', poster(7));
  shop.reads(
    3 * DAY_MS,
    '504',
    detail('504', [variant({ id: '7005', sku: 'CAP-01', name: 'Black', levels: { 11: 4 } })], {
      name: 'Cap',
    }),
  );
  shop.reads(3 * DAY_MS, '505', detail('505', [sticker], { name: 'Sticker' }));
  shop.hears({
    agoMs: 2 * DAY_MS,
    variant: '7001 TS-RED-M',
    warehouse: '11',
    change: [12, 10],
    more: order('reserved', '9001'),
  });
  shop.hears({
    agoMs: 2 * DAY_MS - 1,
    variant: '7003 MUG-01',
    warehouse: '11',
    change: [40, 39],
    more: order('reserved', '9001'),
  });
  shop.hears({
    agoMs: 5 * HOUR_MS,
    variant: '7001 TS-RED-M',
    warehouse: '11',
    change: [10, 7],
    more: order('reserved', '9002'),
  });
  shop.hears({
    agoMs: 5 * HOUR_MS - 1,
    variant: '7002 TS-BLUE-L',
    warehouse: '11',
    change: [2, 1],
    more: order('reserved', '9002'),
  });
  shop.hears({
    agoMs: 4 * HOUR_MS,
    variant: '7001 TS-RED-M',
    warehouse: '12',
    change: [3, 2],
    more: order('reserved', '9003'),
  });
  shop.hears({
    agoMs: 4 * HOUR_MS - 1,
    variant: '7003 MUG-01',
    warehouse: '11',
    change: [39, 34],
    more: order('reserved', '9004'),
  });
  shop.hears({
    agoMs: 3 * HOUR_MS,
    variant: '7006 STICKER-01',
    warehouse: '11',
    change: [1, -2],
    more: order('reserved', '9005'),
  });
  shop.hears({
    agoMs: 3 * HOUR_MS - 1,
    variant: '7001 TS-RED-M',
    warehouse: '12',
    change: [2, 3],
    more: order('canceled', '9003'),
  });
  shop.hears({
    agoMs: 3 * HOUR_MS - 2,
    variant: '7004 POSTER-01',
    warehouse: '21',
    change: [5, 4],
    more: order('reserved', '9006'),
  });
  shop.reads(3 * HOUR_MS - 3 * MINUTE_MS, '503', poster(6));
  shop.reads(2 * HOUR_MS, '504', null);
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
  shop.hears({
    agoMs: MINUTE_MS,
    variant: '7003 MUG-01',
    warehouse: '11',
    change: [33, 30],
    more: { reason: 'user_set', user_id: '3' },
  });
  shop.isServed();
  shop.db.close();
  return path;
}
