import { Hono } from 'hono';
import type { Context } from 'hono';
import { z } from 'zod';
import { idSchema } from '../../store-api/contract/schemas.ts';
import type { Access } from '../shared/access.ts';
import type { AddressBook } from '../orders/address-book.ts';
import type { Agenda } from '../world/agenda.ts';
import type { ApiEnv } from '../api/api.ts';
import type { Apps } from '../network/apps.ts';
import { showCall, showReplay } from './inspector.ts';
import type { CallLog } from '../shared/calls.ts';
import type { Clock } from '../world/clock.ts';
import { faultsSchema, readFaults, setFaults } from './faults.ts';
import { operationNames, renameKeys, runOperation, toSnakeCase } from './operations.ts';
import { isOrderOperation, orderOperationNames, runOrderOperation } from './orders.ts';
import { changeSettings, readSettings, settingsSchema } from './settings.ts';
import type { Courier } from '../orders/courier.ts';
import type { Deliveries, DeliveryRecord } from '../network/deliveries.ts';
import { ApiError } from '../shared/errors.ts';
import type { Loss, Losses } from '../network/losses.ts';
import type { Network } from '../network/network.ts';
import type { TokenIssuer } from '../api/oauth.ts';
import type { Operations } from '../world/operations.ts';
import type { OrderBook } from '../orders/order-book.ts';
import type { OrderDesk } from '../orders/order-desk.ts';
import type { Reads } from '../network/reads.ts';
import { parseJsonBody, readBody } from '../api/request-body.ts';
import { OperationError } from '../world/targets.ts';
import type { Replays } from '../network/replays.ts';
import type { Traffic } from '../world/traffic.ts';
import type { Truth } from '../world/truth.ts';

export const trafficSchema = z.strictObject({
  /** Changes per second; 0 stops. */
  rate: z.number().min(0).max(10_000),
  structural: z.boolean().optional(),
});
export const replaySchema = z.strictObject({
  request_id: z.string().min(1),
  url: z.url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' }),
});
const appSchema = z.strictObject({ client_id: z.string().min(1) });
export const loseNextSchema = z.strictObject({ count: z.int().min(0) });
/** The stock level whose webhook is lost; by default one of the first products. */
const loseWebhookSchema = z.strictObject({
  variant_id: idSchema.optional(),
  warehouse_id: idSchema.optional(),
});
/** At most one year at once. */
const clockSchema = z.strictObject({ advance_ms: z.int().min(0).max(31_536_000_000) });

/** The default of `?limit=`: how many deliveries or calls are shown. */
const MOST_SHOWN = 100;

/**
 * `/sandbox/*`: lets people and scripts control a running sandbox. It needs no credentials: the listener is on loopback,
 * and a body must have a JSON Content-Type, which a foreign web page cannot send.
 */
export function createControl(deps: {
  readonly access: Access;
  readonly addresses: AddressBook;
  readonly agenda: Agenda;
  readonly apps: Apps;
  readonly book: OrderBook;
  readonly clock: Clock;
  readonly courier: Courier;
  readonly desk: OrderDesk;
  readonly issuer: TokenIssuer;
  readonly truth: Truth;
  readonly operations: Operations;
  readonly traffic: Traffic;
  readonly network: Network;
  readonly reads: Reads;
  readonly deliveries: Deliveries;
  readonly losses: Losses;
  readonly calls: CallLog;
  readonly replays: Replays;
}): Hono<ApiEnv> {
  const {
    agenda,
    apps,
    clock,
    issuer,
    truth,
    operations,
    traffic,
    network,
    deliveries,
    losses,
    calls,
    replays,
  } = deps;
  const app = new Hono<ApiEnv>();

  const body = async <Shape extends z.ZodRawShape>(context: Context<ApiEnv>, schema: z.ZodObject<Shape>) =>
    parseJsonBody(await readBody(context.env.incoming), context.req.header('Content-Type'), schema, {
      optional: false,
    });

  app.get('/truth', (context) => context.json(renameKeys(truth.snapshot(), toSnakeCase)));

  const limitOf = (context: Context<ApiEnv>): number => {
    const limit = Number(context.req.query('limit') ?? MOST_SHOWN);
    return Number.isSafeInteger(limit) && limit > 0 ? limit : MOST_SHOWN;
  };

  app.get('/deliveries', (context) => {
    const shown = limitOf(context);
    return context.json({
      counts: deliveries.counts,
      deliveries: deliveries.records.slice(-shown).map(show),
    });
  });

  app.get('/calls', (context) =>
    context.json({
      calls: calls.recent
        .slice(0, limitOf(context))
        .map((call) => showCall(call, (value) => issuer.madeUp(value))),
    }),
  );
  app.post('/replay', async (context) => {
    const { request_id: requestId, url } = await body(context, replaySchema);
    return context.json(showReplay(await replays.send(requestId, url)));
  });

  app.get('/faults', (context) => context.json(readFaults(deps)));
  app.post('/faults', async (context) => {
    setFaults(deps, await body(context, faultsSchema));
    return context.json(readFaults(deps));
  });

  app.post('/traffic', async (context) => {
    const { rate, structural } = await body(context, trafficSchema);
    traffic.structural = structural ?? traffic.structural;
    traffic.start(rate);
    return context.json({ rate: traffic.rate, structural: traffic.structural });
  });

  app.post('/lose-next', async (context) => {
    const { count } = await body(context, loseNextSchema);
    network.loseNext(count);
    return context.json({ count });
  });

  app.post('/lose-webhook', async (context) => {
    const at = await body(context, loseWebhookSchema);
    return context.json(showLoss(loseWebhook(losses, at)));
  });
  app.get('/losses', (context) => context.json({ losses: losses.recent.map(showLoss) }));

  app.post('/operations', async (context) => {
    const requested = await body(context, z.looseObject({}));
    const { operation } = requested;
    if (isOrderOperation(operation)) return context.json(runOrderOperation(deps, operation, requested));
    if (typeof operation === 'string' && operationNames.includes(operation)) {
      return context.json(runOperation(operations, requested));
    }
    const names = [...operationNames, ...orderOperationNames].join(', ');
    throw new ApiError(400, 'invalid_request', `operation: must be one of ${names}`);
  });

  /** The app that `?client_id=` names, by default the first one. */
  const configured = (context: Context<ApiEnv>) => {
    const named = apps.networkOf(context.req.query('client_id') ?? issuer.clientId);
    if (named === undefined) throw new ApiError(404, 'not_found', 'client_id: no such app');
    return { network: named, courier: deps.courier };
  };
  app.get('/settings', (context) => context.json(readSettings(configured(context))));
  app.post('/settings', async (context) => {
    const of = configured(context);
    changeSettings(of, await body(context, settingsSchema));
    return context.json(readSettings(of));
  });

  app.post('/apps', async (context) => {
    const { client_id: clientId } = await body(context, appSchema);
    const added = apps.add(clientId);
    if (added === undefined) throw new ApiError(400, 'invalid_request', `client_id: ${clientId} is in use`);
    const { network: _, ...shown } = added;
    return context.json(renameKeys(shown, toSnakeCase));
  });

  const showClock = (context: Context<ApiEnv>) =>
    context.json({ now: clock.now(), offset_ms: clock.offsetMs });
  app.get('/clock', showClock);
  app.post('/clock', async (context) => {
    agenda.advance((await body(context, clockSchema)).advance_ms);
    return showClock(context);
  });

  app.post('/replace-client-secret', async (context) => {
    await body(context, z.strictObject({}));
    return context.json({ client_secret: issuer.replaceSecret() });
  });

  return app;
}

/** Throws ApiError 400 with the reason, without changing anything. */
export function loseWebhook(losses: Losses, at: z.output<typeof loseWebhookSchema>): Loss {
  try {
    return losses.lose({
      ...(at.variant_id !== undefined && { variantId: at.variant_id }),
      ...(at.warehouse_id !== undefined && { warehouseId: at.warehouse_id }),
    });
  } catch (error) {
    if (error instanceof OperationError) throw new ApiError(400, 'invalid_request', error.message);
    throw error;
  }
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

function show(record: DeliveryRecord) {
  return {
    request_id: record.delivery.requestId,
    client_id: record.clientId,
    url: record.url,
    duplicate: record.duplicate,
    outcome: record.outcome,
    status: record.status,
    ms: record.ms,
    problem: record.problem,
    created_at: record.createdAtMs,
    sent_at: record.sentAtMs,
    items: record.delivery.items,
  };
}
