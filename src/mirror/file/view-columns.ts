/** The views as queries see them; views.ts has their SQL, and a test compares the two. */
import type { Source, VariantKind } from '../../core/model.ts';
import { integer, sqliteView, text } from '../../sqlite/drizzle.ts';
import type { Flag } from '../../sqlite/query.ts';
import type { MirrorState } from './state.ts';
import type { WhyNot } from './suspicion.ts';

export const mirrorSellable = sqliteView('mirror_sellable', {
  variant_id: text().notNull(),
  warehouse_id: text(),
  product_id: text(),
  sku: text(),
  product_name: text(),
  variant_name: text().notNull(),
  warehouse_name: text(),
  available_qty: integer().notNull(),
  allow_negative_stock: integer().$type<Flag>().notNull(),
  trusted: integer().$type<Flag>().notNull(),
  why_not: text().$type<WhyNot>(),
  checked_at: integer().notNull(),
  change_seq: integer().notNull(),
}).existing();

export const mirrorStock = sqliteView('mirror_stock', {
  variant_id: text().notNull(),
  warehouse_id: text().notNull(),
  product_id: text(),
  sku: text(),
  product_name: text(),
  variant_name: text().notNull(),
  available_qty: integer().notNull(),
  on_hand: integer(),
  reserved_qty: integer(),
  source: text().$type<Source>().notNull(),
  as_of: integer().notNull(),
  on_hand_as_of: integer(),
  verified_at: integer(),
  suspect: integer().$type<Flag>().notNull(),
  change_seq: integer().notNull(),
  warehouse_name: text(),
  sellable: integer().$type<Flag>().notNull(),
}).existing();

export const mirrorVariants = sqliteView('mirror_variants', {
  variant_id: text().notNull(),
  product_id: text().notNull(),
  sku: text(),
  upc: text(),
  product_name: text(),
  variant_name: text().notNull(),
  kind: text().$type<VariantKind>().notNull(),
  available_qty: integer().notNull(),
  on_hand: integer(),
  reserved_qty: integer(),
  allow_negative_stock: integer().$type<Flag>().notNull(),
  price_json: text(),
  cost: text(),
  as_of: integer().notNull(),
  verified_at: integer(),
  suspect: integer().$type<Flag>().notNull(),
  change_seq: integer().notNull(),
}).existing();

export const mirrorChanges = sqliteView('mirror_changes', {
  seq: integer().notNull(),
  variant_id: text().notNull(),
  warehouse_id: text(),
  sku: text(),
  old_qty: integer(),
  new_qty: integer(),
  source: text().$type<Source>().notNull(),
  reason: text(),
  order_id: text(),
  user_id: text(),
  update_time: integer(),
  recorded_at: integer().notNull(),
  request_id: text(),
  delta: integer(),
  product_name: text(),
  variant_name: text(),
  warehouse_name: text(),
}).existing();

export const mirrorStatus = sqliteView('mirror_status', {
  epoch: text().notNull(),
  schema_version: integer().notNull(),
  state: text().$type<MirrorState>().notNull(),
  state_cause: text(),
  causes: text().notNull(),
  last_delivery_at: integer(),
  last_full_sync_at: integer(),
  oldest_verified_at: integer(),
  pending_reads: integer().notNull(),
  open_gaps: integer().notNull(),
  last_seq: integer().notNull(),
  alive_at: integer(),
  pruned_change_seq: integer().notNull(),
}).existing();
