/**
 * How large an answer of the store may be. Far beyond any real product, and small enough that reading one holds up
 * neither webhooks nor the other products. What is larger is refused by name; the mirror keeps what it had of it. The transport bounds the bytes of any answer (http.ts).
 */
import type { ProductDetail } from '../contract/schemas.ts';

/** Of one text anywhere in an answer, in UTF-16 units: a description, for instance. */
export const MAX_TEXT_LENGTH = 256 << 10;
/** A page of the list; 100 are asked for. */
export const MAX_LISTED_PRODUCTS = 1_000;
export const MAX_VARIANTS = 3_000;
/** Of a product: all its variants in all their warehouses. A transaction that merges so many takes a third of a second. */
export const MAX_LEVELS = 12_000;
/** Far beyond any answer. What is nested more deeply could not be written as JSON again: that takes the stack. */
const MAX_DEPTH = 500;

/** @returns what is wrong with JSON of any shape, as the rest of "the answer …"; null when nothing is. */
export function sizeFault(json: unknown): string | null {
  return faultIn(json, MAX_DEPTH);
}

function faultIn(value: unknown, levels: number): string | null {
  if (typeof value === 'string')
    return value.length > MAX_TEXT_LENGTH ? `has a text of more than ${MAX_TEXT_LENGTH} characters` : null;
  if (typeof value !== 'object' || value === null) return null;
  if (levels === 0) return 'is nested too deeply';
  for (const inner of Object.values(value)) {
    const fault = faultIn(inner, levels - 1);
    if (fault !== null) return fault;
  }
  return null;
}

/** @returns what there is too much of in a product, as a sentence; null when it can be read. */
export function productFault({ id, variants }: ProductDetail): string | null {
  if (variants.length > MAX_VARIANTS) return tooMany(id, variants.length, 'variants', MAX_VARIANTS);
  const levels = variants.reduce((sum, { warehouses }) => sum + (warehouses?.length ?? 0), 0);
  return levels > MAX_LEVELS ? tooMany(id, levels, 'stock levels', MAX_LEVELS) : null;
}

function tooMany(productId: string, count: number, what: string, most: number): string {
  return `product ${productId} has ${count} ${what}; at most ${most} are read`;
}
