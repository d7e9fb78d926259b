import type { OrderAnswer } from './answers.ts';
import type { Order, OrderLine, Terms } from './orders.ts';

/** The contract shows only `id`, `external_order_id` and `shipments`; the other fields are plausible. */
export function renderOrder(order: Order): OrderAnswer {
  return {
    id: order.id,
    status: order.state,
    ...(order.cancelReason !== null && { cancel_reason: order.cancelReason }),
    create_time: order.createTimeMs,
    update_time: order.updateTimeMs,
    products: order.lines.map(renderLine),
    ...(order.terms !== null && agreed(order.lines, order.terms)),
  };
}

function agreed(lines: readonly OrderLine[], terms: Terms): Omit<OrderAnswer, 'id'> {
  const { request, shipments, paidTimeMs } = terms;
  const subtotal = lines.map(amountOfLine).reduce((sum, amount) => sum + amount, 0n);
  const discount = amountOf(request.discount ?? 0);
  const shippingFee = amountOf(request.shipping_fee ?? 0);
  const otherFee = amountOf(request.other_fee ?? 0);
  return {
    ...present(request, ['external_order_id', 'channel', 'shipping_type']),
    is_paid: paidTimeMs !== null,
    ...(paidTimeMs !== null && { paid_time: paidTimeMs }),
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
    subtotal: moneyText(subtotal),
    discount: moneyText(discount),
    shipping_fee: moneyText(shippingFee),
    other_fee: moneyText(otherFee),
    // Unlike these, `cod_fee` is not documented as added to the total.
    total: moneyText(subtotal - discount + shippingFee + otherFee),
    ...(shipments.length > 0 && { shipments }),
  };
}

function renderLine(line: OrderLine): Record<string, unknown> {
  const { variant, qty, price } = line;
  return {
    product_variant_id: variant.id,
    product_id: variant.product.id,
    name: variant.product.name,
    ...(variant.name !== '' && { variant_name: variant.name }),
    ...(variant.sku !== null && { sku: variant.sku }),
    qty,
    price: moneyText(amountOf(price)),
    amount: moneyText(amountOfLine(line)),
  };
}

function present<T extends object, Field extends keyof T>(from: T, fields: readonly Field[]) {
  return Object.fromEntries(
    fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]),
  ) as Partial<Pick<T, Field>>;
}

const PLACES = 20;

/** Requests have numbers or numeric strings ("Conventions" 3). */
function amountOf(money: number | string): bigint {
  const format = { useGrouping: false, maximumFractionDigits: PLACES };
  const text = typeof money === 'string' ? money : money.toLocaleString('en', format);
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.slice(0, PLACES).padEnd(PLACES, '0'));
}

function amountOfLine({ price, qty }: OrderLine): bigint {
  return amountOf(price) * BigInt(qty);
}

function moneyText(amount: bigint): string {
  const text = String(amount < 0n ? -amount : amount).padStart(PLACES + 1, '0');
  const fraction = text.slice(-PLACES).replace(/0+$/, '').padEnd(2, '0');
  return `${amount < 0n ? '-' : ''}${text.slice(0, -PLACES)}.${fraction}`;
}
