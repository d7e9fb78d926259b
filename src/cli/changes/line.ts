/** A change on one line, for people. */
import type { ChangeRow } from '../../mirror/queries/changes.ts';
import { warehouseText } from '../../ops/shared/warehouse-names.ts';
import { causeName } from '../../ops/shared/words.ts';
import { colours } from '../shared/colours.ts';

export function lineOf(change: ChangeRow): string {
  const { seq, sku, variant_id: variantId, warehouse_id: warehouseId, recorded_at: recordedAt } = change;
  const place = warehouseId === null ? 'total' : warehouseText(warehouseId, change.warehouse_name);
  const what = sku ?? `variant ${variantId}`;
  return `${seq}  ${localTime(recordedAt)}  ${what}  ${place}  ${movement(change)}  ${why(change)}`;
}

function movement({ old_qty: before, new_qty: after }: ChangeRow): string {
  const figures = `${before ?? 'none'} → ${after ?? 'none'}`;
  if (before === null || after === null) return figures;
  const by = after - before;
  return `${figures} ${by < 0 ? colours.red(String(by)) : colours.green(`+${by}`)}`;
}

function why({ source, reason, order_id: orderId, user_id: userId }: ChangeRow): string {
  const said = source === 'read' ? `read: ${causeName(reason ?? 'unknown')}` : (reason ?? 'webhook');
  const who = orderId !== null ? `, order ${orderId}` : userId !== null ? `, user ${userId}` : '';
  return `${said}${who}`;
}

/** In the time zone of this machine: `2026-09-21 14:33:20`. */
function localTime(atMs: number): string {
  const at = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 19).replace('T', ' ');
}
