import { Hono } from 'hono';
import type { Context } from 'hono';
import { z } from 'zod';
import { shippingTypes } from '../../store-api/contract/order-schemas.ts';
import { idSchema } from '../../store-api/contract/schemas.ts';
import type { ApiEnv } from '../api/api.ts';
import { parseJsonBody, readBody } from '../api/request-body.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Loss } from '../network/losses.ts';
import type { Network } from '../network/network.ts';
import type { Call } from '../shared/calls.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../store.ts';
import { faultsSchema, readFaults, setFaults } from './faults.ts';
import { renameKeys, toSnakeCase } from './names.ts';
import { possible, runOperation } from './operations.ts';

export const trafficSchema = z.strictObject({
  rate: z.number().min(0).max(10_000).describe('stock changes per second; 0 stops'),
  structural: z.boolean().optional().describe('also add and delete products'),
});

/** The store owner's settings of an app. Omitted fields keep their values. */
export const settingsSchema = z.strictObject({
  /** Empty: no webhooks, regardless of the switches. */
  webhook_url: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .optional()
    .describe('webhook URL; empty for none'),
  /** One switch per event; off stops its delivery and keeps the URL. */
  events: z
    .strictObject({
      stock_available_updated: z.boolean().optional().describe('send stock_available_updated'),
    })
    .optional(),
  /** The couriers for which booking is set up. */
  couriers: z.array(z.enum(shippingTypes)).optional(),
  booking_delay_ms: z.int().min(0).max(3_600_000).optional().describe('from ready-to-ship to shipment, ms'),
});

const replaySchema = z.strictObject({
  request_id: z.string().min(1),
  url: z.url({ protocol: /^https?$/, error: 'an http(s) address' }),
});

/** The default of `?limit=`: how many deliveries or calls are listed. */
const MOST_SHOWN = 100;
const YEAR_MS = 31_536_000_000;

/**
 * `/sandbox/*`: lets people and scripts control a running sandbox. It needs no credentials: the listener is on loopback,
 * and a body must have a JSON Content-Type, which a foreign web page cannot send.
 */
export function createControl(store: Store): Hono<ApiEnv> {
  const { apps, calls, clock, deliveries, losses, network, oauth, traffic, truth } = store;
  const app = new Hono<ApiEnv>();

  const get = (path: string, answer: (context: Context<ApiEnv>) => object): void => {
    app.get(path, (context) => context.json(answer(context)));
  };
  const post = <Shape extends z.ZodRawShape>(
    path: string,
    schema: z.ZodObject<Shape>,
    answer: (body: z.output<z.ZodObject<Shape>>, context: Context<ApiEnv>) => object | Promise<object>,
  ): void => {
    app.post(path, async (context) => {
      const raw = await readBody(context.env.incoming);
      const contentType = context.req.header('Content-Type');
      const body = parseJsonBody(raw, contentType, schema, { optional: false });
      return context.json(await answer(body, context));
    });
  };
  const limitOf = (context: Context<ApiEnv>): number => {
    const limit = Number(context.req.query('limit') ?? MOST_SHOWN);
    return Number.isSafeInteger(limit) && limit > 0 ? limit : MOST_SHOWN;
  };
  /** The network of the app that `?client_id=` names, by default the first one. */
  const networkOf = (context: Context<ApiEnv>): Network => {
    const found = apps.networkOf(context.req.query('client_id') ?? store.clientId);
    if (found === undefined) throw new ApiError(404, 'not_found', 'client_id: no such app');
    return found;
  };
  const showClock = () => ({ now: clock.now(), offset_ms: clock.offsetMs });

  get('/truth', () => renameKeys(truth.snapshot(), toSnakeCase));
  get('/deliveries', (context) => ({
    counts: deliveries.counts,
    deliveries: deliveries.records.slice(-limitOf(context)).map(showDelivery),
  }));
  get('/calls', (context) => ({ calls: calls.recent.slice(0, limitOf(context)).map(showCall) }));
  post('/replay', replaySchema, async ({ request_id: requestId, url }) =>
    showDelivery(await resend(store, requestId, url)),
  );

  get('/faults', () => readFaults(store));
  post('/faults', faultsSchema, (faults) => {
    setFaults(store, faults);
    return readFaults(store);
  });
  post('/traffic', trafficSchema, (body) => {
    setTraffic(store, body);
    return { rate: traffic.rate, structural: traffic.structural };
  });
  post('/lose-next', z.strictObject({ count: z.int().min(0) }), ({ count }) => {
    network.loseNext(count);
    return { count };
  });
  get('/losses', () => ({ losses: losses.recent.map(showLoss) }));
  post(
    '/lose-webhook',
    z.strictObject({ variant_id: idSchema.optional(), warehouse_id: idSchema.optional() }),
    ({ variant_id: variantId, warehouse_id: warehouseId }) =>
      showLoss(possible(() => losses.lose({ variantId, warehouseId }))),
  );

  post('/operations', z.looseObject({}), (body) => runOperation(store, body));

  get('/settings', (context) => readSettings(store, networkOf(context)));
  post('/settings', settingsSchema, (settings, context) => {
    const of = networkOf(context);
    changeSettings(store, settings, of);
    return readSettings(store, of);
  });
  post('/apps', z.strictObject({ client_id: z.string().min(1) }), ({ client_id: clientId }) => {
    const added = apps.add(clientId);
    if (added === undefined) throw new ApiError(400, 'invalid_request', `client_id: ${clientId} is in use`);
    const { network: _, ...credentials } = added;
    return renameKeys(credentials, toSnakeCase);
  });
  post('/replace-client-secret', z.strictObject({}), () => ({ client_secret: oauth.replaceSecret() }));

  get('/clock', showClock);
  post('/clock', z.strictObject({ advance_ms: z.int().min(0).max(YEAR_MS) }), (body) => {
    store.advance(body.advance_ms);
    return showClock();
  });
  return app;
}

export function setTraffic({ traffic }: Store, body: z.output<typeof trafficSchema>): void {
  traffic.structural = body.structural ?? traffic.structural;
  traffic.start(body.rate);
}

export function readSettings(
  { courier }: Store,
  network: Network,
): Required<z.output<typeof settingsSchema>> {
  return {
    webhook_url: network.webhookUrl ?? '',
    events: { stock_available_updated: network.enabled },
    couriers: [...courier.bookable],
    booking_delay_ms: courier.bookingDelayMs,
  };
}

export function changeSettings(
  { courier }: Store,
  settings: z.output<typeof settingsSchema>,
  network: Network,
): void {
  network.webhookUrl = settings.webhook_url ?? network.webhookUrl;
  network.enabled = settings.events?.stock_available_updated ?? network.enabled;
  if (settings.couriers) courier.bookable = new Set(settings.couriers);
  courier.bookingDelayMs = settings.booking_delay_ms ?? courier.bookingDelayMs;
}

/** Sends a webhook again, the same bytes, to any address. Throws ApiError 404 for one that is not kept any more. */
export function resend({ apps, deliveries }: Store, requestId: string, url: string): Promise<DeliveryRecord> {
  const found = deliveries.records.findLast(({ delivery }) => delivery.requestId === requestId);
  const network = found && apps.networkOf(found.clientId);
  if (found === undefined || network === undefined) {
    throw new ApiError(404, 'not_found', `request_id: no webhook ${requestId} is kept`);
  }
  return network.resend(found.delivery, url);
}

function showCall({ id, atMs, method, target, headers, body, answer, ms }: Call) {
  return {
    ...{ id, at: atMs, method, target, headers: Object.fromEntries(headers), body: body.text },
    ...{ status: answer?.status ?? null, answer: answer?.text.text ?? null, ms },
  };
}

function showLoss({ lost, change, revealedBy, readAtMs, productId, variant, warehouseId }: Loss) {
  return {
    ...{ product_id: productId, variant_id: variant.id, warehouse_id: warehouseId },
    ...{ request_id: lost.delivery.requestId, lost_at: lost.createdAtMs, old: change.old, new: change.new },
    revealed_by: revealedBy?.record.delivery.requestId ?? null,
    revealed_at: revealedBy?.record.sentAtMs ?? null,
    read_at: readAtMs,
  };
}

function showDelivery({ delivery, clientId, createdAtMs, sentAtMs, ...fate }: DeliveryRecord) {
  return {
    ...{ request_id: delivery.requestId, client_id: clientId, ...fate },
    ...{ created_at: createdAtMs, sent_at: sentAtMs, items: delivery.items },
  };
}
