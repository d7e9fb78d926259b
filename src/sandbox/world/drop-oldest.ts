/** Makes room in a map, which keeps its entries in the order of their insertion. */
export function dropOldest<Key>(map: Map<Key, unknown>): void {
  const first = map.keys().next();
  if (first.done !== true) map.delete(first.value);
}
