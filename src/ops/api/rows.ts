/** Rows with the names and meanings of the SQL views (docs/reading-the-mirror.md#views). */
import { z } from '@hono/zod-openapi';
import { READ_REASONS } from '../../core/drift-reasons.ts';
import { SOURCES, VARIANT_KINDS } from '../../core/model.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { WHY_NOT, type WhyNot } from '../../mirror/file/suspicion.ts';
import { instant, instantOrNull } from '../shared/shapes.ts';

const flag = z.union([z.literal(0), z.literal(1)]);
const textOrNull = z.string().nullable();
const quantityOrNull = z.number().nullable();

const suspect = flag.meta({ description: '1: the value may be out of date; a read of it is due.' });
const source = z.enum(SOURCES).meta({ description: 'A webhook, or a read from the store.' });
const warehouseName = textOrNull.meta({
  description: 'Set by WAREHOUSE_NAMES or on the page; null: it has no name.',
});
const changeSeq = (changed: string) =>
  z.int().meta({ description: `Grows when ${changed} of the row changes.` });

export const whyNot = z.enum(Object.keys(WHY_NOT) as WhyNot[]);

export const trustSchema = z
  .object({
    state: z.enum(MIRROR_STATES),
    cause: textOrNull.meta({ description: 'The code of the first cause of the state.' }),
    as_of: instant,
    last_seq: z.int().meta({ description: 'It holds for a copy that has all changes up to this number.' }),
    untrusted: z
      .array(z.object({ variant_id: z.string(), warehouse_id: textOrNull, why_not: whyNot }))
      .readonly()
      .nullable()
      .meta({
        description:
          'The rows of mirror_sellable that are not trusted; every other row is. Null: they are more ' +
          'than 1000, so trust none, or ask /api/sellable for each.',
      }),
    untrusted_count: z
      .int()
      .nullable()
      .meta({ description: 'How many they are; null: more than 10000, while the mirror catches up.' }),
  })
  .openapi('Trust');

export const sellableRowSchema = z
  .object({
    variant_id: z.string(),
    warehouse_id: textOrNull.meta({
      description:
        'Null: the total of a bundle, a pulled product, or a variant that has no warehouses ' +
        'or whose total the store does not divide.',
    }),
    product_id: textOrNull.meta({ description: 'Null until a read shows the product of the variant.' }),
    sku: textOrNull,
    product_name: textOrNull,
    variant_name: z.string(),
    warehouse_name: warehouseName,
    available_qty: z.number().meta({ description: 'The quantity available to sell; may be negative.' }),
    allow_negative_stock: flag.meta({ description: '1: the store takes orders at zero.' }),
    trusted: flag.meta({ description: '1: a program may sell this quantity.' }),
    why_not: whyNot.nullable().meta({ description: 'Why it is not trusted; null: it is.' }),
    checked_at: instant.meta({ description: 'The later of the last delivery and the last read.' }),
    change_seq: changeSeq('a quantity, a name or `allow_negative_stock`'),
  })
  .openapi('SellableRow');
export type SellableRow = z.infer<typeof sellableRowSchema>;

export const stockRowSchema = z
  .object({
    variant_id: z.string(),
    warehouse_id: z.string(),
    product_id: textOrNull.meta({ description: 'Null until a read shows the product of the variant.' }),
    sku: textOrNull,
    product_name: textOrNull,
    variant_name: z.string(),
    available_qty: z.number().meta({ description: 'The quantity available to sell; may be negative.' }),
    on_hand: quantityOrNull,
    reserved_qty: quantityOrNull,
    source,
    as_of: instant.meta({ description: 'The time of the change or read that the value comes from.' }),
    on_hand_as_of: instantOrNull,
    verified_at: instantOrNull.meta({ description: 'The last read that confirmed it.' }),
    suspect,
    change_seq: changeSeq('a quantity or a name'),
    warehouse_name: warehouseName,
    sellable: flag.meta({
      description:
        '1: mirror_sellable has the row too. 0: the variant is sold by its total, because no read shows ' +
        'the quantities of its warehouses.',
    }),
  })
  .openapi('StockRow');
export type StockRow = z.infer<typeof stockRowSchema>;

export const variantRowSchema = z
  .object({
    variant_id: z.string(),
    product_id: z.string(),
    sku: textOrNull,
    upc: textOrNull,
    product_name: textOrNull,
    variant_name: z.string(),
    kind: z.enum(VARIANT_KINDS),
    available_qty: z.number().meta({ description: 'The quantity available to sell, over all warehouses.' }),
    on_hand: quantityOrNull,
    reserved_qty: quantityOrNull,
    allow_negative_stock: flag,
    price_json: textOrNull.meta({ description: 'The prices as the store sent them, as JSON.' }),
    cost: textOrNull,
    as_of: instant,
    verified_at: instantOrNull,
    suspect,
    change_seq: changeSeq('a quantity, a name or another property'),
  })
  .openapi('VariantRow');
export type VariantRow = z.infer<typeof variantRowSchema>;

export const changeSchema = z
  .object({
    seq: z.int().meta({ description: 'Grows with each change, in commit order; numbers may be skipped.' }),
    variant_id: z.string(),
    warehouse_id: textOrNull.meta({ description: 'Null: the total of the variant moved, no warehouse row.' }),
    sku: textOrNull,
    old_qty: quantityOrNull.meta({ description: 'The quantity before; null: there was no row.' }),
    new_qty: quantityOrNull.meta({ description: 'Null: the row was removed.' }),
    source,
    reason: textOrNull.meta({
      description: `The webhook’s own reason; for a read one of: ${READ_REASONS.join(', ')}.`,
    }),
    order_id: textOrNull,
    user_id: textOrNull,
    update_time: instantOrNull.meta({ description: 'Of the webhook, by the clock of the store.' }),
    recorded_at: instant,
    request_id: textOrNull,
    delta: quantityOrNull.meta({ description: '`new_qty` less `old_qty`; null where one of them is.' }),
    product_name: textOrNull.meta({ description: 'As it is now, or was when the product was removed.' }),
    variant_name: textOrNull.meta({ description: 'Likewise; empty until the variant was read.' }),
    warehouse_name: warehouseName,
  })
  .openapi('Change');
export type Change = z.infer<typeof changeSchema>;
