import { requireQuota } from './access.ts';
import type { Access } from './access.ts';
import type { AddressBook, StoredAddress } from './address-book.ts';
import type { Agenda } from './agenda.ts';
import type { Clock } from './clock.ts';
import type { Courier } from './courier.ts';
import type { NewOrder, Origin, OrderBook, PlacedOrder, PricedLine } from './order-book.ts';
import { refused, resolveLines } from './order-lines.ts';
import type { OrderOperations } from './order-operations.ts';
import type { Order } from './orders.ts';
import { InsufficientStock, OperationError } from './targets.ts';
import type { Truth } from './truth.ts';
import { storeName } from './wares.ts';

/** Where orders are made, and what happens to them afterwards. */
export type OrderDesk = {
  /**
   * Makes an order and reserves its stock, or gives the one that the channel made with the same `external_order_id`.
   * Throws ApiError 400 or 403, and then nothing has changed.
   */
  place(request: NewOrder, origin: Origin): PlacedOrder;
  /** Payment is confirmed and complete. Throws OperationError, as do the others. */
  pay(orderId: string): void;
  /** Keys in a tracking number by hand, as a caller without automatic requests has to. */
  addTrackingNumber(orderId: string, trackingNumber: string): void;
  /** An open order is cancelled first: its stock comes back. */
  delete(orderId: string): void;
};

export function createOrderDesk(deps: {
  truth: Truth;
  operations: OrderOperations;
  book: OrderBook;
  addresses: AddressBook;
  courier: Courier;
  agenda: Agenda;
  access: Access;
  clock: Clock;
}): OrderDesk {
  const { truth, operations, book, addresses, courier, agenda, access, clock } = deps;

  const senderOf = (request: NewOrder): StoredAddress | undefined => {
    const { sender_address_id: id } = request;
    const sender = id === undefined ? addresses.own()[0] : addresses.findOwn(id);
    if (id !== undefined && sender === undefined) throw noSuchAddress('sender_address_id');
    if (sender === undefined) return undefined;
    // An order keeps the address, not whether the store prefers it today.
    const { is_primary: _, ...address } = { is_primary: false, ...sender };
    return address;
  };
  /** Looks up an address that is only named; one that is told is stored when all else is known to be right. */
  const recipientOf = (request: NewOrder): (() => StoredAddress) => {
    const { recipient_address_id: id, recipient_address: told } = request;
    if (told !== undefined) return () => addresses.addCustomers(told);
    const stored = addresses.find(id!);
    if (stored === undefined) throw noSuchAddress('recipient_address_id');
    return () => stored;
  };

  const reserve = (lines: readonly PricedLine[]): Order => {
    try {
      const wanted = lines.map(({ variant, qty }) => ({ variantId: variant.id, qty }));
      const order = operations.orders.get(operations.reserve(wanted).orderId)!;
      operations.orders.setAside(order);
      return order;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      throw refused(fieldOf(error, lines), error.message);
    }
  };

  const requireOrder = (orderId: string): PlacedOrder => {
    const order = book.find(orderId);
    if (order === undefined) throw new OperationError(`no order ${orderId}`);
    if (!('request' in order)) throw new OperationError(`order ${orderId} only holds stock`);
    return order;
  };
  const wanted = ({ stock }: PlacedOrder): boolean => !stock.deleted && stock.state !== 'canceled';

  /** "Ready to ship" is payment or `ship_before_pay`; that cash on delivery comes later is no third case. */
  const bookCourier = (order: PlacedOrder): void => {
    const { shipping_type: shippingType, auto_request_xshipping: isAutomatic = true } = order.request;
    if (!isAutomatic) return;
    courier.book(shippingType, () => {
      // It was asked for twice when `ship_before_pay` did first, and payment then.
      if (!wanted(order) || order.shipments.length > 0) return;
      order.shipments.push(courier.shipment(shippingType));
      order.stock.updateTimeMs = clock.now();
    });
  };
  const expireAt = (order: PlacedOrder, expirationTimeMs: number): void => {
    agenda.at(expirationTimeMs, () => {
      if (order.paidTimeMs !== null || order.stock.state !== 'open') return;
      operations.cancel(order.stock.id, 'order_canceled_by_system');
    });
  };

  return {
    place: (request, origin) => {
      const { external_order_id: externalOrderId, expiration_time: expirationTimeMs } = request;
      const existing = externalOrderId === undefined ? undefined : book.findExternal(origin, externalOrderId);
      // Before the quota and the stock: what exists already needs neither.
      if (existing !== undefined) return existing;
      if (origin !== null) requireQuota(access);

      const lines = resolveLines(truth, request.products);
      const sender = senderOf(request);
      const recipient = recipientOf(request);
      const stock = reserve(lines);
      const order: PlacedOrder = {
        ...{ stock, origin, request, lines, sender },
        recipient: recipient(),
        senderName: request.sender_name ?? storeName,
        orderTimeMs: request.order_time ?? stock.createTimeMs,
        paidTimeMs: null,
        shipments: [],
      };
      book.add(order);
      if (request.ship_before_pay === true) bookCourier(order);
      if (expirationTimeMs !== undefined) expireAt(order, expirationTimeMs);
      return order;
    },
    pay: (orderId) => {
      const order = requireOrder(orderId);
      if (order.paidTimeMs !== null) throw new OperationError(`order ${orderId} is paid already`);
      if (order.stock.state === 'canceled') throw new OperationError(`order ${orderId} is cancelled`);
      order.paidTimeMs = clock.now();
      order.stock.updateTimeMs = order.paidTimeMs;
      bookCourier(order);
    },
    addTrackingNumber: (orderId, trackingNumber) => {
      const order = requireOrder(orderId);
      if (!wanted(order)) throw new OperationError(`order ${orderId} is cancelled`);
      order.shipments.push(courier.shipment(order.request.shipping_type, trackingNumber));
      order.stock.updateTimeMs = clock.now();
    },
    delete: (orderId) => {
      const order = book.find(orderId);
      if (order === undefined) throw new OperationError(`no order ${orderId}`);
      if (order.stock.state === 'open') operations.cancel(orderId);
      order.stock.deleted = true;
    },
  };
}

/** The same words whether it does not exist or is not the store's ("Errors" rule 1). */
function noSuchAddress(field: string) {
  return refused(field, 'no such address for this store');
}

/**
 * The document does not say what happens to an order for more than there is, where the variant may not be oversold.
 * It is answered like anything else that is wrong with a request: 400, naming the quantity of the line that is too much.
 */
function fieldOf(error: OperationError, lines: readonly PricedLine[]): string {
  if (!(error instanceof InsufficientStock)) return 'products';
  const { variantId } = error;
  const index = lines.findLastIndex(
    ({ variant }) =>
      variant.id === variantId ||
      (variant.kind === 'bundle' && variant.components.some((part) => part.variant.id === variantId)),
  );
  return `products[${index}].qty`;
}
