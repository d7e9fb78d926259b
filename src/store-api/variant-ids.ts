/** Reads the variants that a webhook names, without judging the rest. */

/** Ids are strings, but a number with all its digits still shows which variant is meant. */
export function variantIdOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('id' in item)) return null;
  const { id } = item;
  if (typeof id === 'number') return Number.isSafeInteger(id) && id >= 0 ? String(id) : null;
  return typeof id === 'string' && /^[0-9]+$/.test(id) ? id : null;
}

/** @returns null unless every item names its variant. */
export function variantIdsOf(body: Uint8Array): string[] | null {
  const ids = itemsOf(body)?.map(variantIdOf) ?? [];
  const known = ids.filter((id) => id !== null);
  return known.length > 0 && known.length === ids.length ? known : null;
}

/** @returns null if the body has no list of items. */
export function itemsOf(body: Uint8Array): readonly unknown[] | null {
  try {
    const { data } = JSON.parse(Buffer.from(body).toString()) as { readonly data?: unknown };
    if (typeof data !== 'object' || data === null || !('items' in data)) return null;
    return Array.isArray(data.items) ? data.items : null;
  } catch {
    return null;
  }
}
