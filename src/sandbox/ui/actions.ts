import { faultsSchema, setFaults } from '../control/faults.ts';
import { runOperation } from '../control/operations.ts';
import { runOrderOperation } from '../control/orders.ts';
import { changeSettings, settingsSchema } from '../control/settings.ts';
import { loseNextSchema, loseWebhook, trafficSchema } from '../control/control.ts';
import type { PageDeps } from './deps.ts';
import { faultsOf } from './fault-fields.ts';
import { checked, isChecked, number, text, whole } from './form.ts';

/** What the page shows afterwards: the name of a notice, and its subject. */
interface Done extends Readonly<Record<string, string>> {
  readonly done: string;
}

type Action = (deps: PageDeps, form: URLSearchParams) => Done;

/** The recipient of orders placed on the page. */
const recipient = {
  name: 'ลูกค้าทดลอง',
  telephone: '0800000000',
  address1: '1 ถนนทดลอง',
  sub_district: 'สีลม',
  district: 'บางรัก',
  province: 'กรุงเทพมหานคร',
  postal_code: 10500,
};

/**
 * The actions of the page's forms: each runs the code of a control API operation. Throws ApiError 400 or 403 with the
 * reason, without changing anything.
 */
export const actions: Readonly<Record<string, Action>> = {
  stock: ({ operations }, form) => {
    const level = { variant_id: text(form, 'variant_id'), warehouse_id: text(form, 'warehouse_id') };
    const qty = whole(form, 'qty');
    runOperation(
      operations,
      text(form, 'how') === 'add'
        ? { operation: 'add', ...level, by: qty }
        : { operation: 'adjust', ...level, to: qty },
    );
    return { done: 'stock', variant: level.variant_id, warehouse: level.warehouse_id };
  },

  order: (deps, form) => {
    const item = text(form, 'item');
    const line = text(form, 'by') === 'variant' ? { product_variant_id: item } : { sku: item };
    const { order } = runOrderOperation(deps, 'place_order', {
      operation: 'place_order',
      order: {
        shipping_type: text(form, 'shipping_type'),
        ship_before_pay: isChecked(form, 'ship_before_pay'),
        products: [{ ...line, qty: whole(form, 'qty') }],
        recipient_address: recipient,
      },
    });
    return { done: 'placed', id: (order as { readonly id: string }).id };
  },
  cancel: ({ operations }, form) => {
    const id = text(form, 'order_id');
    runOperation(operations, { operation: 'cancel', order_id: id });
    return { done: 'canceled', id };
  },
  pay: (deps, form) => {
    const id = text(form, 'order_id');
    runOrderOperation(deps, 'pay', { operation: 'pay', order_id: id });
    return { done: 'paid', id };
  },

  'delete-product': ({ operations }, form) => {
    const id = text(form, 'product_id');
    runOperation(operations, { operation: 'delete_product', product_id: id });
    return { done: 'deleted', id };
  },
  'restore-product': ({ operations }, form) => {
    const id = text(form, 'product_id');
    runOperation(operations, { operation: 'restore_product', product_id: id });
    return { done: 'restored', id };
  },

  settings: (deps, form) => {
    const settings = {
      webhook_url: text(form, 'webhook_url'),
      events: { stock_available_updated: isChecked(form, 'stock_available_updated') },
      booking_delay_ms: whole(form, 'booking_delay_ms'),
    };
    changeSettings(deps, checked(settingsSchema, settings));
    return { done: 'settings' };
  },
  traffic: ({ traffic }, form) => {
    const { rate, structural } = checked(trafficSchema, {
      rate: number(form, 'rate'),
      structural: isChecked(form, 'structural'),
    });
    traffic.structural = structural ?? false;
    traffic.start(rate);
    return { done: 'traffic' };
  },
  faults: (deps, form) => {
    setFaults(deps, checked(faultsSchema, faultsOf(form)));
    return { done: 'faults' };
  },
  'lose-webhook': ({ losses }) => {
    const { variant, lost } = loseWebhook(losses, {});
    return { done: 'lose-webhook', variant: variant.id, id: lost.delivery.requestId };
  },
  'lose-next': ({ network }, form) => {
    const { count } = checked(loseNextSchema, { count: whole(form, 'count') });
    network.loseNext(count);
    return { done: 'lose-next', count: String(count) };
  },
};
