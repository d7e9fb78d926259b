/**
 * The columns of the views, in their order; views.ts has the SQL. Queries take the types from here, the API's lists of
 * rows the types and meanings, and `npm run generate` writes docs/reading-the-mirror.md.
 */
import type { SQLiteColumnBuilderBase } from 'drizzle-orm/sqlite-core';
import { READ_REASONS } from '../../core/drift-reasons.ts';
import { SOURCES, VARIANT_KINDS } from '../../core/model.ts';
import * as drizzle from '../../sqlite/drizzle.ts';
import type { Flag } from '../../sqlite/query.ts';
import { MIRROR_STATES } from './state.ts';
import { WHY_NOT_CODES } from './suspicion.ts';

export interface Column<B extends SQLiteColumnBuilderBase = SQLiteColumnBuilderBase> {
  readonly built: B;
  /** A list: one of these codes. */
  readonly type: 'text' | 'whole' | 'flag' | readonly string[];
  readonly isNullable: boolean;
  /** A sentence in Markdown, without its capital and its full stop. It may begin with `null`, to say what that means. */
  readonly meaning: string;
}

export interface View {
  /** Says what a row is, in Markdown. */
  readonly rows: string;
  readonly columns: Readonly<Record<string, Column>>;
}

type Make = <B extends SQLiteColumnBuilderBase>(built: B, type: Column['type'], meaning: string) => Column<B>;
const required: Make = (built, type, meaning) => ({ built, type, isNullable: false, meaning });
const nullable: Make = (built, type, meaning) => ({ built, type, isNullable: true, meaning });

const text = (meaning: string) => required(drizzle.text().notNull(), 'text', meaning);
const textOrNull = (meaning: string) => nullable(drizzle.text(), 'text', meaning);
const whole = (meaning: string) => required(drizzle.integer().notNull(), 'whole', meaning);
const wholeOrNull = (meaning: string) => nullable(drizzle.integer(), 'whole', meaning);
const flag = (meaning: string) => required(drizzle.integer().$type<Flag>().notNull(), 'flag', meaning);
const code = <T extends string>(codes: readonly T[], meaning: string) =>
  required(drizzle.text().$type<T>().notNull(), codes, meaning);
const codeOrNull = <T extends string>(codes: readonly T[], meaning: string) =>
  nullable(drizzle.text().$type<T>(), codes, meaning);

const productOrNull = textOrNull('null until a read has found the product');
const sku = textOrNull('several variants may share one');
const productName = textOrNull('null until the product was read');
const variantName = text('empty until the product was read');
const warehouseName = textOrNull(
  'set by `WAREHOUSE_NAMES` or on the page; a new name leaves `change_seq` as it is',
);
const availableQty = whole('sellable units: on hand minus reserved');
const allowNegativeStock = flag('1 if the store accepts orders at zero, otherwise 0');
const source = code(SOURCES, '`webhook` or `read`: where the quantity comes from');
const suspect = flag('1 while the quantity may be wrong, otherwise 0');
const verifiedAt = wholeOrNull('when the last read that confirmed or set `available_qty` was sent');

export const VIEWS = {
  mirror_sellable: {
    rows:
      'One row for each quantity that a program may sell: for each warehouse of a variant, or for its total if it is ' +
      'a bundle or a pulled product, has no warehouses, or the store does not divide its total. Every unit is in ' +
      'exactly one row, so you can add rows up.',
    columns: {
      variant_id: text('with `warehouse_id`, the key'),
      warehouse_id: textOrNull('null: the total of the variant'),
      product_id: productOrNull,
      sku,
      product_name: productName,
      variant_name: variantName,
      warehouse_name: warehouseName,
      available_qty: availableQty,
      allow_negative_stock: allowNegativeStock,
      trusted: flag('1 if a program may sell this quantity, otherwise 0'),
      why_not: codeOrNull(WHY_NOT_CODES, 'the first reason against trust; null: it is trusted'),
      checked_at: whole(
        'when its last webhook arrived or the last read that showed it was sent, whichever is later',
      ),
      change_seq: whole(
        'grows when a quantity, a name or another property changes, not when `trusted` or `checked_at` does',
      ),
    },
  },
  mirror_stock: {
    rows: 'One row for each live variant and warehouse: the stock level.',
    columns: {
      variant_id: text('with `warehouse_id`, the key'),
      warehouse_id: text('the id that the store gave it'),
      product_id: productOrNull,
      sku,
      product_name: productName,
      variant_name: variantName,
      available_qty: availableQty,
      on_hand: wholeOrNull(
        'physical units; webhooks never carry it, so after one, it and `reserved_qty` are older than `available_qty`',
      ),
      reserved_qty: wholeOrNull('units on orders that wait to be shipped'),
      source,
      as_of: whole("time of `available_qty`: the webhook's `update_time`, or when the read was sent"),
      on_hand_as_of: wholeOrNull('when the read that showed `on_hand` and `reserved_qty` was sent'),
      verified_at: verifiedAt,
      suspect,
      change_seq: whole(
        'grows when a quantity, a name or another property changes, not when `source`, a time or `suspect` does',
      ),
      warehouse_name: warehouseName,
      sellable: flag(
        '1 if `mirror_sellable` has the row too; 0 if the variant is sold by its total, because no read shows its warehouses',
      ),
    },
  },
  mirror_variants: {
    rows: 'One row for each live variant whose total a read has shown.',
    columns: {
      variant_id: text('the key'),
      product_id: text('its product'),
      sku,
      upc: textOrNull('the barcode'),
      product_name: productName,
      variant_name: variantName,
      kind: code(
        VARIANT_KINDS,
        "`own`, `pulled` (another seller's stock), `bundle` (follows from other variants), `assembled` (made of other variants)",
      ),
      available_qty: whole("sellable units in all warehouses: the store's total, moved by each later change"),
      on_hand: wholeOrNull('in all warehouses, when the variant was last read'),
      reserved_qty: wholeOrNull('likewise'),
      allow_negative_stock: allowNegativeStock,
      price_json: textOrNull(
        'the prices as the store sent them, in baht: `[{"id":"1","price_tier_id":"4","price":"199.00"}]`',
      ),
      cost: textOrNull('the cost of a unit in baht, a decimal string'),
      as_of: whole('time of `available_qty`'),
      verified_at: verifiedAt,
      suspect,
      change_seq: whole(
        'grows when a quantity, a name or another property changes, not when a time or `suspect` does',
      ),
    },
  },
  mirror_products: {
    rows: 'One row for each live product that was read.',
    columns: {
      product_id: text('the key'),
      name: text('its name'),
      parent_id: textOrNull("for a pulled product, the seller's product"),
      update_time: wholeOrNull('last edit in the store'),
      verified_at: whole('when the last read was sent'),
      detail_json: text('the answer to that read, as the store sent it, with all its fields'),
    },
  },
  mirror_changes: {
    rows: 'One row for each change of a mirrored quantity, deleted after `RETENTION_DAYS`.',
    columns: {
      seq: whole('the key; grows in the order of the commits, with gaps'),
      variant_id: text('with `warehouse_id`, the key of the row that changed'),
      warehouse_id: textOrNull("null if the variant's total changed without a change in a warehouse"),
      sku: textOrNull('the SKU when the change was recorded'),
      old_qty: wholeOrNull("the mirror's quantity before; null: there was no row"),
      new_qty: wholeOrNull('the quantity after; null: the row was removed'),
      source,
      reason: textOrNull(
        `of a read: ${READ_REASONS.map((each) => `\`${each}\``).join(', ')}; of a webhook, the store's code, such as \`order_reserved\``,
      ),
      order_id: textOrNull('the order that caused it, if a webhook says so'),
      user_id: textOrNull('the user, likewise'),
      update_time: wholeOrNull("the webhook's time of the change"),
      recorded_at: whole('when the webhook arrived, or the read was finished'),
      request_id: textOrNull("the store's id of the webhook or answer"),
      delta: wholeOrNull(
        '`new_qty − old_qty`; null for a first quantity and for a removal, which are no stock movements',
      ),
      product_name: textOrNull('the present name'),
      variant_name: textOrNull('likewise'),
      warehouse_name: textOrNull('likewise'),
    },
  },
  mirror_status: {
    rows: 'One row.',
    columns: {
      epoch: text('identifies one numbering of changes; when it differs, start over'),
      schema_version: whole('number of migrations'),
      state: code(MIRROR_STATES, '`live`, `catching_up` or `stale`'),
      state_cause: textOrNull('the first cause of this state; null while it is `live`'),
      causes: text(
        'all causes: a JSON list of objects with `code` and, if known, `since`, `severity`, `owner`, `message` and `remedy`',
      ),
      last_delivery_at: wholeOrNull('when the last webhook arrived'),
      last_full_sync_at: wholeOrNull('when the whole catalogue was last read in this epoch'),
      oldest_verified_at: wholeOrNull('the oldest `verified_at` of all products'),
      pending_reads: whole(
        'products that wait to be read, without those whose removal waits to be confirmed or decided',
      ),
      open_gaps: whole('webhooks that are late or lost'),
      last_seq: whole('the last number issued'),
      alive_at: wholeOrNull('the heartbeat, once a second'),
      pruned_change_seq: whole('the highest `seq` that was pruned; 0: none'),
    },
  },
} as const satisfies Readonly<Record<string, View>>;

export type ViewName = keyof typeof VIEWS;

type Built<C> = { [Name in keyof C]: C[Name] extends Column<infer B> ? B : never };

function declared<N extends ViewName>(name: N) {
  const columns = Object.entries<Column>(VIEWS[name].columns).map(([key, { built }]) => [key, built]);
  return drizzle
    .sqliteView(name, Object.fromEntries(columns) as Built<(typeof VIEWS)[N]['columns']>)
    .existing();
}

export type ViewRow<N extends ViewName> = ReturnType<typeof declared<N>>['$inferSelect'];

export const mirrorSellable = declared('mirror_sellable');
export const mirrorStock = declared('mirror_stock');
export const mirrorVariants = declared('mirror_variants');
export const mirrorChanges = declared('mirror_changes');
export const mirrorStatus = declared('mirror_status');
