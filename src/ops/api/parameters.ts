/** Parameters that several endpoints take. */
import { z } from '@hono/zod-openapi';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

/** A whole number in a query. */
export function wholeNumber(min: number, max: number, description: string) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,15})$/, problem)
    .transform(Number)
    .refine((value) => value >= min && value <= max, problem)
    .openapi({ type: 'integer', minimum: min, maximum: max, description });
}

export const seqParameter = (description: string) => wholeNumber(0, Number.MAX_SAFE_INTEGER, description);

export const limitParameter = wholeNumber(1, MAX_LIMIT, 'The largest number of rows on a page.')
  .optional()
  .transform((value) => value ?? DEFAULT_LIMIT)
  .openapi({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT });

export const idParameter = z.string().regex(/^[0-9]{1,32}$/, 'must be an id, which has digits only');

export const flagParameter = z
  .enum(['0', '1'], 'must be 0 or 1')
  .transform((value) => (value === '1' ? 1 : 0));

export const skuParameter = z.string().min(1, 'must not be empty').max(500, 'is too long');

/** Ends every list. */
export const listEnd = {
  has_more: z.boolean().meta({ description: 'There may be more rows: ask again with `after` = `next`.' }),
  next: z.string().nullable().meta({ description: 'Where the next page begins; null on the last page.' }),
};
