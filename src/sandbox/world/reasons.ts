/** The actor of each reason ("Reason codes and actor field"); reasons that are not listed have none. */
type Actor = 'order' | 'user';

const ORDER_REASONS = [
  'order_reserved',
  'order_edited',
  'order_canceled',
  'order_canceled_by_system',
  'available_qty_reconciled',
  'shipping_canceled',
] as const;

const USER_REASONS = [
  'variant_created',
  'user_adjusted',
  'user_added',
  'returned',
  'purchased',
  'deposited',
  'user_deducted',
  'damaged',
  'lost',
  'withdrawn',
  'user_set',
  'stock_counted',
] as const;

const actors = new Map<string, Actor>([
  ...ORDER_REASONS.map((reason) => [reason, 'order'] as const),
  ...USER_REASONS.map((reason) => [reason, 'user'] as const),
]);

export function actorOf(reason: string): Actor | undefined {
  return actors.get(reason);
}
