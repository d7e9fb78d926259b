import { delivery, detail, DirectWriter, item, T0 } from './mirror-file.ts';

export const LATER = T0 + 20_000;

/** Every kind of suspect row at least three times, and many rows that are not suspect. */
export function suspectMirror(): DirectWriter {
  const writer = new DirectWriter();
  const read = (product: number, levels: Record<string, number> | null, more = {}) => {
    const variants = [0, 1].map((n) => ({ id: `${product}0${n}`, levels, total: 9, more }));
    writer.read(String(product), detail(String(product), variants), T0);
  };
  for (let product = 1; product <= 9; product += 1) read(product, { 1: 5, 2: 5 });
  const pulled = { pulled_from_product_variant_id: '9' };
  for (const product of [20, 21, 22]) read(product, null, pulled);
  const change = (id: string, over = {}) =>
    writer.deliver(
      delivery(`${id} ${JSON.stringify(over)}`, item({ id, update_time: LATER, ...over })),
      LATER,
    );
  writer.requestReads('conflict', ['1', '2'], LATER);
  change('100', { old: 9, new: 8 });
  writer.requestReads('listed', ['3', '4'], LATER);
  for (const [id, warehouse_id] of [
    ['500', '1'],
    ['500', '2'],
    ['600', '1'],
    ['601', '1'],
  ] as const) {
    change(id, { old: 9, new: 8, warehouse_id });
  }
  // Levels that no read shows.
  for (const [id, warehouse_id] of [
    ['2000', '1'],
    ['2100', '1'],
    ['2100', '2'],
    ['2200', '1'],
  ] as const) {
    change(id, { old: 5, new: 6, warehouse_id });
  }
  for (const product of [20, 21, 22]) {
    writer.read(
      String(product),
      detail(
        String(product),
        [0, 1].map((n) => ({ id: `${product}0${n}`, levels: null, total: 9, more: pulled })),
      ),
      T0 + 60_000,
    );
  }
  for (const id of ['9001', '9002', '9003']) change(id);
  return writer;
}
