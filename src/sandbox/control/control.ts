import { randomBytes } from 'node:crypto';
import { Hono } from 'hono';
import type { Context } from 'hono';
import { z } from 'zod';
import { shippingTypes } from '../../store-api/contract/order-schemas.ts';
import type { ApiEnv } from '../api/api.ts';
import { parseJsonBody, readBody } from '../api/request-body.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Loss } from '../network/losses.ts';
import type { Network } from '../network/network.ts';
import type { Call } from '../shared/calls.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../sandbox.ts';
import { faultsSchema, ms, readFaults, setFaults } from './faults.ts';
import { renameKeys, runOperation, toSnakeCase } from './operations.ts';

/** For JSON and for the forms of the page. */
interface Action<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** The answer to `GET`, and to `POST` if `run` returns nothing. */
  readonly show?: (store: Store, network: Network) => Record<string, unknown>;
  run(store: Store, body: z.output<Schema>, network: Network): object | void | Promise<object>;
}

const action = <Schema extends z.ZodObject>(of: Action<Schema>): Action => of;

const MOST_SHOWN = 100;
const YEAR_MS = 31_536_000_000;

export const ACTIONS = {
  faults: action({ schema: faultsSchema, show: readFaults, run: setFaults }),
  traffic: action({
    schema: z.strictObject({
      rate: z.number().min(0).max(10_000).describe('stock changes per second; 0 stops'),
      structural: z.boolean().optional().describe('also add and delete products'),
    }),
    show: ({ traffic: { rate, structural } }) => ({ rate, structural }),
    run: ({ traffic }, { rate, structural = traffic.structural }) => {
      traffic.structural = structural;
      traffic.start(rate);
    },
  }),
  settings: action({
    schema: z.strictObject({
      webhook_url: z
        .union([z.literal(''), z.url({ protocol: /^https?$/ })])
        .optional()
        .describe('webhook URL; empty for none'),
      events: z
        .strictObject({
          stock_available_updated: z.boolean().optional().describe('send stock_available_updated'),
        })
        .optional(),
      couriers: z.array(z.enum(shippingTypes)).optional(),
      booking_delay_ms: ms.optional().describe('from ready-to-ship to shipment, ms'),
    }),
    show: ({ courier }, network) => ({
      webhook_url: network.webhookUrl ?? '',
      events: { stock_available_updated: network.enabled },
      couriers: [...courier.bookable],
      booking_delay_ms: courier.bookingDelayMs,
    }),
    run: ({ courier }, settings, network) => {
      network.webhookUrl = settings.webhook_url ?? network.webhookUrl;
      network.enabled = settings.events?.stock_available_updated ?? network.enabled;
      if (settings.couriers) courier.bookable = new Set(settings.couriers);
      courier.bookingDelayMs = settings.booking_delay_ms ?? courier.bookingDelayMs;
    },
  }),
  clock: action({
    schema: z.strictObject({ advance_ms: z.int().min(0).max(YEAR_MS) }),
    show: ({ clock }) => ({ now: clock.now(), offset_ms: clock.offsetMs }),
    run: ({ clock }, body) => clock.advance(body.advance_ms),
  }),
  operations: action({ schema: z.looseObject({}), run: runOperation }),
  'lose-next': action({
    schema: z.strictObject({ count: z.int().min(0) }),
    run: (_, body, network) => {
      network.loseNext(body.count);
      return body;
    },
  }),
  'lose-webhook': action({ schema: z.strictObject({}), run: ({ losses }) => showLoss(losses.lose()) }),
  replay: action({
    schema: z.strictObject({
      request_id: z.string().min(1),
      url: z.url({ protocol: /^https?$/, error: 'must begin with http:// or https://' }),
    }),
    run: async ({ networks, deliveries }, { request_id: requestId, url }) => {
      const found = deliveries.records.findLast(({ delivery }) => delivery.requestId === requestId);
      const network = found && networks.get(found.clientId);
      if (found === undefined || network === undefined) {
        throw new ApiError(404, 'not_found', `request_id: no webhook ${requestId} is kept`);
      }
      return showDelivery(await network.resend(found.delivery, url));
    },
  }),
  apps: action({
    schema: z.strictObject({ client_id: z.string().min(1) }),
    run: ({ networks, addApp }, { client_id: clientId }) => {
      if (networks.has(clientId))
        throw new ApiError(400, 'invalid_request', `client_id: ${clientId} is in use`);
      const [clientSecret = '', webhookSecret = ''] = [1, 2].map(() => randomBytes(24).toString('base64url'));
      addApp({ clientId, clientSecret, webhookSecret, webhookUrl: null });
      return { client_id: clientId, client_secret: clientSecret, webhook_secret: webhookSecret };
    },
  }),
  'replace-client-secret': action({
    schema: z.strictObject({}),
    run: ({ oauth }) => ({ client_secret: oauth.replaceSecret() }),
  }),
};

/** `/sandbox/*` needs no credentials: it listens on loopback, and foreign web pages cannot send a JSON Content-Type. */
export function createControl(store: Store): Hono<ApiEnv> {
  const { calls, deliveries, losses, truth } = store;
  const app = new Hono<ApiEnv>();

  const limitOf = (context: Context<ApiEnv>): number => {
    const limit = Number(context.req.query('limit') ?? MOST_SHOWN);
    return Number.isSafeInteger(limit) && limit > 0 ? limit : MOST_SHOWN;
  };
  const networkOf = (context: Context<ApiEnv>): Network => {
    const found = store.networks.get(context.req.query('client_id') ?? store.clientId);
    if (found === undefined) throw new ApiError(404, 'not_found', 'client_id: no such app');
    return found;
  };

  app.get('/truth', (context) => context.json(renameKeys(truth.snapshot(), toSnakeCase)));
  app.get('/deliveries', (context) => {
    const shown = deliveries.records.slice(-limitOf(context)).map(showDelivery);
    return context.json({ counts: deliveries.counts, deliveries: shown });
  });
  app.get('/calls', (context) =>
    context.json({ calls: calls.recent.slice(0, limitOf(context)).map(showCall) }),
  );
  app.get('/losses', (context) =>
    context.json({ losses: losses.recent.slice(0, limitOf(context)).map(showLoss) }),
  );
  for (const [name, found] of Object.entries(ACTIONS)) {
    const { schema, show } = found;
    if (show !== undefined) app.get(`/${name}`, (context) => context.json(show(store, networkOf(context))));
    app.post(`/${name}`, async (context) => {
      const network = networkOf(context);
      const raw = await readBody(context.env.incoming);
      const body = parseJsonBody(raw, context.req.header('Content-Type'), schema, { optional: false });
      const done = await found.run(store, body, network);
      return context.json(done ?? show?.(store, network) ?? {});
    });
  }
  return app;
}

function showCall({ id, atMs, method, target, headers, body, answer, ms }: Call) {
  return {
    id,
    at: atMs,
    method,
    target,
    headers: Object.fromEntries(headers),
    body,
    status: answer?.status ?? null,
    answer: answer?.text ?? null,
    ms,
  };
}

function showLoss({ lost, change, revealedBy, readAtMs, productId, variant, warehouseId }: Loss) {
  return {
    product_id: productId,
    variant_id: variant.id,
    warehouse_id: warehouseId,
    request_id: lost.delivery.requestId,
    lost_at: lost.createdAtMs,
    old: change.old,
    new: change.new,
    revealed_by: revealedBy?.record.delivery.requestId ?? null,
    revealed_at: revealedBy?.record.sentAtMs ?? null,
    read_at: readAtMs,
  };
}

function showDelivery({ delivery, clientId, createdAtMs, sentAtMs, ...fate }: DeliveryRecord) {
  return {
    request_id: delivery.requestId,
    client_id: clientId,
    ...fate,
    created_at: createdAtMs,
    sent_at: sentAtMs,
    items: delivery.items,
  };
}
