/** The control API uses snake_case like the store's API; the code does not. */

/** Bodies in the store's own form keep their names. */
const AS_THE_STORE = ['order', 'address', 'addresses'];

export function renameKeys(value: object, rename: (key: string) => string): Record<string, unknown> {
  const renamed = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(renamed);
    return typeof inner === 'object' && inner !== null ? renameKeys(inner, rename) : inner;
  };
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      rename(key),
      AS_THE_STORE.includes(key) ? inner : renamed(inner),
    ]),
  );
}

export function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function toSnakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
