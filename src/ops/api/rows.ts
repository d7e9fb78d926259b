/** Rows with the names, types and meanings of the SQL views (docs/reading-the-mirror.md#views). */
import { z } from '@hono/zod-openapi';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { WHY_NOT_CODES } from '../../mirror/file/suspicion.ts';
import { VIEWS, type Column, type ViewName, type ViewRow } from '../../mirror/file/view-columns.ts';
import { instant } from '../shared/shapes.ts';

const textOrNull = z.string().nullable();

export const trustSchema = z
  .object({
    state: z.enum(MIRROR_STATES),
    cause: textOrNull.meta({ description: 'The code of the first cause of the state.' }),
    as_of: instant,
    last_seq: z.int().meta({ description: 'It holds for a copy that has all changes up to this number.' }),
    untrusted: z
      .array(z.object({ variant_id: z.string(), warehouse_id: textOrNull, why_not: z.enum(WHY_NOT_CODES) }))
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

type RowSchema<Row> = z.ZodObject<{ readonly [Name in keyof Row]: z.ZodType<Row[Name]> }>;

function rowSchema<N extends ViewName>(view: N, title: string): RowSchema<ViewRow<N>> {
  const shape = Object.entries<Column>(VIEWS[view].columns).map(([key, column]) => {
    const { type, isNullable, meaning } = column;
    const schema = typeof type === 'string' ? TYPES[type] : z.enum(type);
    const description = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
    return [key, (isNullable ? schema.nullable() : schema).meta({ description })];
  });
  return z.object(Object.fromEntries(shape)).openapi(title) as RowSchema<ViewRow<N>>;
}

const TYPES = {
  text: z.string(),
  whole: z.int(),
  flag: z.union([z.literal(0), z.literal(1)]),
};

export const sellableRowSchema = rowSchema('mirror_sellable', 'SellableRow');
export const stockRowSchema = rowSchema('mirror_stock', 'StockRow');
export const variantRowSchema = rowSchema('mirror_variants', 'VariantRow');
export const changeSchema = rowSchema('mirror_changes', 'Change');
