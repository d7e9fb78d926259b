import type { OrderAnswer } from './answers.ts';
import { amountOf, moneyText, sum, times } from './money.ts';
import type { Order, PricedLine, Ware } from './orders.ts';

/**
 * The order record. The contract shows only `id`, `external_order_id` and `shipments`; the other fields are plausible and
 * named as in the request. Fields that a record does not have are absent, never null.
 */
export function renderOrder(order: Order): OrderAnswer {
  return {
    id: order.id,
    status: order.state,
    ...(order.cancelReason !== null && { cancel_reason: order.cancelReason }),
    create_time: order.createTimeMs,
    update_time: order.updateTimeMs,
    ...(order.terms === null ? { products: order.wares.map(renderWare) } : agreed(order.terms)),
  };
}

function agreed(terms: NonNullable<Order['terms']>): Omit<OrderAnswer, 'id'> {
  const { request, lines, shipments, paidTimeMs } = terms;
  const goods = lines.map(({ price, qty }) => times(amountOf(price), qty));
  const discount = amountOf(request.discount ?? 0);
  const shippingFee = amountOf(request.shipping_fee ?? 0);
  const otherFee = amountOf(request.other_fee ?? 0);
  return {
    ...present(request, ['external_order_id', 'channel', 'shipping_type']),
    ...{ is_paid: paidTimeMs !== null, ...(paidTimeMs !== null && { paid_time: paidTimeMs }) },
    order_time: terms.orderTimeMs,
    ...present(request, ['expiration_time', 'ship_deadline_time', 'shipping_label_note', 'private_note']),
    is_cod: request.is_cod ?? false,
    ...(request.cod_fee !== undefined && { cod_fee: moneyText(amountOf(request.cod_fee)) }),
    ...(request.cod_amount !== undefined && { cod_amount: moneyText(amountOf(request.cod_amount)) }),
    ship_before_pay: request.ship_before_pay ?? false,
    auto_request_xshipping: request.auto_request_xshipping ?? true,
    sender_name: terms.senderName,
    ...(terms.sender !== undefined && { sender_address: terms.sender }),
    recipient_address: terms.recipient,
    products: lines.map(renderLine),
    subtotal: moneyText(sum(goods)),
    discount: moneyText(discount),
    shipping_fee: moneyText(shippingFee),
    other_fee: moneyText(otherFee),
    // Unlike these, `cod_fee` is not documented as added to the total.
    total: moneyText(sum([...goods, times(discount, -1), shippingFee, otherFee])),
    ...(shipments.length > 0 && { shipments }),
  };
}

function renderLine(line: PricedLine): Record<string, unknown> {
  const price = amountOf(line.price);
  return { ...renderWare(line), price: moneyText(price), amount: moneyText(times(price, line.qty)) };
}

function renderWare({ variant, qty }: Ware): Record<string, unknown> {
  return {
    product_variant_id: variant.id,
    product_id: variant.product.id,
    name: variant.product.name,
    ...(variant.name !== '' && { variant_name: variant.name }),
    ...(variant.sku !== null && { sku: variant.sku }),
    qty,
  };
}

function present<T extends object, Field extends keyof T>(from: T, fields: readonly Field[]) {
  return Object.fromEntries(
    fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]),
  ) as Partial<Pick<T, Field>>;
}
