/** Rows of the API, with the names and meanings of the SQL views (docs/reading-the-mirror.md#views). */
import { z } from '@hono/zod-openapi';
import { READ_REASONS } from '../../core/causes.ts';
import { SOURCES, VARIANT_KINDS } from '../../core/model.ts';

export const instant = z.int().meta({ description: 'Epoch milliseconds.' });
const flag = z.union([z.literal(0), z.literal(1)]);
const suspect = flag.meta({ description: '1: the value may be out of date; a read of it is due.' });
const source = z
  .enum(SOURCES)
  .meta({ description: 'Where the value comes from: a webhook, or a read from the store.' });

const warehouseName = z
  .string()
  .nullable()
  .meta({ description: 'What WAREHOUSE_NAMES calls the warehouse; null where it gives it no name.' });

export const stockRowSchema = z
  .object({
    variant_id: z.string(),
    warehouse_id: z.string(),
    product_id: z
      .string()
      .nullable()
      .meta({ description: 'Null until the mirror knows which product the variant belongs to.' }),
    sku: z.string().nullable(),
    product_name: z.string().nullable(),
    variant_name: z.string(),
    available_qty: z.number().meta({ description: 'The quantity available to sell; may be negative.' }),
    on_hand: z.number().nullable(),
    reserved_qty: z.number().nullable(),
    source,
    as_of: instant.meta({ description: 'The time of the change or read that the value comes from.' }),
    on_hand_as_of: instant.nullable(),
    verified_at: instant.nullable().meta({ description: 'The last read that confirmed it.' }),
    suspect,
    change_seq: z.int().meta({ description: 'Grows when a figure or a name of the row changes.' }),
    warehouse_name: warehouseName,
  })
  .openapi('StockRow');

export const variantRowSchema = z
  .object({
    variant_id: z.string(),
    product_id: z.string(),
    sku: z.string().nullable(),
    upc: z.string().nullable(),
    product_name: z.string().nullable(),
    variant_name: z.string(),
    kind: z.enum(VARIANT_KINDS),
    available_qty: z.number().meta({ description: 'The quantity available to sell, over all warehouses.' }),
    on_hand: z.number().nullable(),
    reserved_qty: z.number().nullable(),
    allow_negative_stock: flag,
    price_json: z.string().nullable().meta({ description: 'The prices as the store sent them, as JSON.' }),
    cost: z.string().nullable(),
    as_of: instant,
    verified_at: instant.nullable(),
    suspect,
    change_seq: z.int(),
  })
  .openapi('VariantRow');

export const changeSchema = z
  .object({
    seq: z.int().meta({ description: 'Grows with each change, in commit order; numbers may be skipped.' }),
    variant_id: z.string(),
    warehouse_id: z
      .string()
      .nullable()
      .meta({ description: 'Null: the variant’s total moved without a change in a warehouse row.' }),
    sku: z.string().nullable(),
    old_qty: z
      .number()
      .nullable()
      .meta({ description: 'What the mirror held before; null: there was no row.' }),
    new_qty: z.number().nullable().meta({ description: 'Null: the row was removed.' }),
    source,
    reason: z
      .string()
      .nullable()
      .meta({
        description: `The webhook’s own reason; for a read one of: ${READ_REASONS.join(', ')}.`,
      }),
    order_id: z.string().nullable(),
    user_id: z.string().nullable(),
    update_time: instant
      .nullable()
      .meta({ description: 'The webhook’s own `update_time`, by the store’s clock.' }),
    recorded_at: instant,
    request_id: z.string().nullable(),
    delta: z
      .number()
      .nullable()
      .meta({ description: '`new_qty` less `old_qty`; null where one of them is.' }),
    product_name: z
      .string()
      .nullable()
      .meta({ description: 'The product’s name as it is now, or was when it was removed.' }),
    variant_name: z
      .string()
      .nullable()
      .meta({ description: 'Likewise the variant’s; empty until it was read.' }),
    warehouse_name: warehouseName,
  })
  .openapi('Change');

export const epochSchema = z
  .string()
  .meta({ description: 'Identifies the mirror’s history: when it changes, start over.' });

export const lastSeqSchema = z.int().meta({ description: 'The last number issued.' });
