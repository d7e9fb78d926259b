import { requireQuota } from '../shared/access.ts';
import type { Access } from '../shared/access.ts';
import type { AddressBook, StoredAddress } from './address-book.ts';
import type { Agenda } from '../world/agenda.ts';
import type { Clock } from '../world/clock.ts';
import type { Courier } from './courier.ts';
import type { FoundOrder, NewOrder, Origin, OrderBook, PlacedOrder, PricedLine } from './order-book.ts';
import { refused, resolveLines } from './order-lines.ts';
import type { OrderOperations } from '../world/order-operations.ts';
import type { Order } from '../world/orders.ts';
import { InsufficientStock, OperationError } from '../world/targets.ts';
import type { Truth } from '../world/truth.ts';
import { storeName } from '../world/wares.ts';

interface OrderDeskDeps {
  readonly truth: Truth;
  readonly operations: OrderOperations;
  readonly book: OrderBook;
  readonly addresses: AddressBook;
  readonly courier: Courier;
  readonly agenda: Agenda;
  readonly access: Access;
  readonly clock: Clock;
}

/** Creates orders and handles them afterwards. */
export class OrderDesk {
  readonly #deps: OrderDeskDeps;

  constructor(deps: OrderDeskDeps) {
    this.#deps = deps;
  }

  /**
   * Makes an order and reserves its stock, or returns the one that the channel made with the same `external_order_id`.
   * Throws ApiError 400 or 403 without changing anything.
   */
  place(request: NewOrder, origin: Origin): PlacedOrder {
    const { truth, book, access } = this.#deps;
    const { external_order_id: externalOrderId, expiration_time: expirationTimeMs } = request;
    const existing = book.findExternal(origin, externalOrderId);
    // Before quota and stock: an existing order needs neither.
    if (existing !== undefined) return existing;
    if (origin !== null) requireQuota(access);

    const lines = resolveLines(truth, request.products);
    const sender = this.#senderOf(request);
    const recipient = this.#recipientOf(request);
    const stock = this.#reserve(lines);
    const order: PlacedOrder = {
      ...{ stock, origin, request, lines, sender },
      recipient: recipient(),
      senderName: request.sender_name ?? storeName,
      orderTimeMs: request.order_time ?? stock.createTimeMs,
      paidTimeMs: null,
      shipments: [],
    };
    book.add(order);
    if (request.ship_before_pay === true) this.#bookCourier(order);
    if (expirationTimeMs !== undefined) this.#expireAt(order, expirationTimeMs);
    return order;
  }

  /** Confirms complete payment. Throws OperationError, like the others. */
  pay(orderId: string): PlacedOrder {
    const order = this.#requireOrder(orderId);
    if (order.paidTimeMs !== null) throw new OperationError(`order ${orderId} is paid already`);
    if (order.stock.state === 'canceled') throw new OperationError(`order ${orderId} is cancelled`);
    order.paidTimeMs = this.#deps.clock.now();
    order.stock.updateTimeMs = order.paidTimeMs;
    this.#bookCourier(order);
    return order;
  }

  /** Enters a tracking number by hand, for couriers without automatic booking. */
  addTrackingNumber(orderId: string, trackingNumber: string): PlacedOrder {
    const order = this.#requireOrder(orderId);
    if (!isWanted(order)) throw new OperationError(`order ${orderId} is cancelled`);
    order.shipments.push(this.#deps.courier.shipment(order.request.shipping_type, trackingNumber));
    order.stock.updateTimeMs = this.#deps.clock.now();
    return order;
  }

  /** An open order is cancelled first, which releases its stock. */
  delete(orderId: string): void {
    const { stock } = this.#find(orderId);
    if (stock.state === 'open') this.#deps.operations.cancel(orderId);
    stock.deleted = true;
  }

  #find(orderId: string): FoundOrder {
    const order = this.#deps.book.find(orderId);
    if (order === undefined) throw new OperationError(`no order ${orderId}`);
    return order;
  }

  #requireOrder(orderId: string): PlacedOrder {
    const order = this.#find(orderId);
    if (!('request' in order)) throw new OperationError(`order ${orderId} only holds stock`);
    return order;
  }

  #senderOf(request: NewOrder): StoredAddress | undefined {
    const { addresses } = this.#deps;
    const { sender_address_id: id } = request;
    const sender = id === undefined ? addresses.own()[0] : addresses.findOwn(id);
    if (id !== undefined && sender === undefined) throw noSuchAddress('sender_address_id');
    if (sender === undefined) return undefined;
    // An order keeps the address, not whether it is the primary one today.
    const { is_primary: _, ...address } = { is_primary: false, ...sender };
    return address;
  }

  /** Looks up an address given by id; one given in full is stored when everything else is valid. */
  #recipientOf(request: NewOrder): () => StoredAddress {
    const { addresses } = this.#deps;
    const { recipient_address_id: id, recipient_address: told } = request;
    if (told !== undefined) return () => addresses.addCustomers(told);
    // The schema has seen to it that one of the two is there.
    const stored = id === undefined ? undefined : addresses.find(id);
    if (stored === undefined) throw noSuchAddress('recipient_address_id');
    return () => stored;
  }

  #reserve(lines: readonly PricedLine[]): Order {
    const { operations } = this.#deps;
    try {
      const wanted = lines.map(({ variant, qty }) => ({ variantId: variant.id, qty }));
      const { order } = operations.reserve(wanted);
      operations.orders.setAside(order);
      return order;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      throw refused(fieldOf(error, lines), error.message);
    }
  }

  /** "Ready to ship" means paid or `ship_before_pay`; cash on delivery is no third case. */
  #bookCourier(order: PlacedOrder): void {
    const { courier, clock } = this.#deps;
    const { shipping_type: shippingType, auto_request_xshipping: isAutomatic = true } = order.request;
    if (!isAutomatic) return;
    courier.book(shippingType, () => {
      // Requested twice: first for `ship_before_pay`, then for the payment.
      if (!isWanted(order) || order.shipments.length > 0) return;
      order.shipments.push(courier.shipment(shippingType));
      order.stock.updateTimeMs = clock.now();
    });
  }

  #expireAt(order: PlacedOrder, expirationTimeMs: number): void {
    const { agenda, operations } = this.#deps;
    agenda.at(expirationTimeMs, () => {
      if (order.paidTimeMs !== null || order.stock.state !== 'open') return;
      operations.cancel(order.stock.id, 'order_canceled_by_system');
    });
  }
}

function isWanted({ stock }: PlacedOrder): boolean {
  return !stock.deleted && stock.state !== 'canceled';
}

/** The same text whether it does not exist or belongs to another store ("Errors" rule 1). */
function noSuchAddress(field: string) {
  return refused(field, 'no such address for this store');
}

/**
 * The contract does not say how an order for more than the available stock is answered when the variant must not be
 * oversold. It is treated like any wrong field: 400, naming the quantity of that line.
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
