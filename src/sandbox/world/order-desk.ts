import { ApiError, OperationError, type Access } from '../shared/errors.ts';
import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';
import type { Variant } from './model.ts';
import type { NewOrder, Order, OrderOperations, PlacedOrder } from './orders.ts';
import type { Truth } from './truth.ts';

export function createOrderDesk(deps: {
  readonly truth: Truth;
  readonly operations: OrderOperations;
  /** The store's own. */
  readonly addresses: readonly { readonly id: string }[];
  readonly access: Access;
  readonly clock: Clock;
  readonly ids: Ids;
}) {
  const { truth, operations, addresses, access, clock, ids } = deps;
  const courier = {
    /** From ready-to-ship to the tracking number: "moments later". */
    bookingDelayMs: 2_000,
  };
  let trackingNumbers = 0;

  const find = (orderId: string): Order => {
    const order = operations.orders.find(orderId);
    if (order === undefined) throw new OperationError(`no order ${orderId}`);
    return order;
  };

  const placed = (orderId: string): PlacedOrder => {
    const order = find(orderId);
    if (order.terms === null) throw new OperationError(`order ${orderId} only holds stock`);
    return order as PlacedOrder;
  };

  /** The same text whether it does not exist or belongs to another store ("Errors" rule 1). */
  const checkAddresses = (request: NewOrder): void => {
    for (const field of ['sender_address_id', 'recipient_address_id'] as const) {
      const sought = request[field];
      if (sought === undefined || addresses.some(({ id }) => id === sought)) continue;
      throw refused(field, 'no such address for this store');
    }
  };

  /** "Ready to ship" means paid or `ship_before_pay`; cash on delivery is no third case. */
  const bookCourier = (order: PlacedOrder): void => {
    const { shipping_type: shippingType, auto_request_xshipping: isAutomatic = true } = order.terms.request;
    if (!isAutomatic) return;
    clock.after(courier.bookingDelayMs, () => {
      // Booked twice, for `ship_before_pay` and for the payment.
      if (order.state === 'canceled' || order.terms.shipments.length > 0) return;
      trackingNumbers += 1;
      order.terms.shipments.push({
        id: ids.next(),
        shipping_type: shippingType,
        tracking_number: `TH${String(trackingNumbers).padStart(10, '0')}`,
        create_time: clock.now(),
      });
    });
  };

  return {
    courier,
    /** Returns the existing order for a known `external_order_id`. @throws ApiError */
    place: (request: NewOrder): PlacedOrder => {
      const { external_order_id: externalOrderId, expiration_time: expirationTimeMs } = request;
      const existing = operations.orders.findExternal(externalOrderId);
      // An existing order needs neither quota nor stock.
      if (existing !== undefined) return existing;
      if (access.quotaExceeded) {
        throw new ApiError(403, 'quota_exceeded', 'the order quota of the store’s subscription is used up');
      }

      const lines = request.products.map((line, index) => {
        return { variantId: variantOf(truth, line, `products[${index}]`).id, qty: line.qty };
      });
      checkAddresses(request);
      // The contract leaves the answer to an oversold line open: 400, as for any wrong field.
      const { order: stock } = operations.reserve(lines);
      const order = operations.orders.place(stock, { request, isPaid: false, shipments: [] });
      if (request.ship_before_pay === true) bookCourier(order);
      if (expirationTimeMs !== undefined) {
        clock.after(expirationTimeMs - clock.now(), () => {
          if (order.terms.isPaid || order.state !== 'open') return;
          operations.cancel(order.id, 'order_canceled_by_system');
        });
      }
      return order;
    },

    pay: (orderId: string): PlacedOrder => {
      const order = placed(orderId);
      if (order.terms.isPaid) throw new OperationError(`order ${orderId} is paid already`);
      if (order.state === 'canceled') throw new OperationError(`order ${orderId} is cancelled`);
      order.terms.isPaid = true;
      bookCourier(order);
      return order;
    },
  };
}

function variantOf(truth: Truth, line: NewOrder['products'][number], field: string): Variant {
  const { sku, product_variant_id: id = '' } = line;
  const isMeant = (variant: Variant): boolean =>
    sku === undefined ? variant.id === id : variant.sku === sku;
  const variants = truth.variants.filter((each) => isMeant(each) && truth.variant(each.id) !== undefined);
  const [variant, ...others] = variants;
  if (variant === undefined) {
    throw sku === undefined
      ? refused(`${field}.product_variant_id`, 'no such variant for this store')
      : refused(`${field}.sku`, `no such SKU for this store: ${JSON.stringify(sku)}`);
  }
  if (others.length === 0) return variant;
  const ids = variants.map((each) => each.id).join(', ');
  throw refused(`${field}.sku`, `SKU ${JSON.stringify(sku)} is shared by the variants ${ids}`);
}

function refused(field: string, why: string): ApiError {
  return new ApiError(400, 'invalid_request', `${field}: ${why}`);
}
