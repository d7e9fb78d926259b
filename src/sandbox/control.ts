import { Hono } from 'hono';
import type { Context } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from './api.ts';
import type { Clock } from './clock.ts';
import { faultsSchema, readFaults, setFaults } from './control-faults.ts';
import { renameKeys, runOperation, toSnakeCase } from './control-operations.ts';
import type { Deliveries, DeliveryRecord } from './deliveries.ts';
import type { Network } from './network.ts';
import type { Operations } from './operations.ts';
import type { Reads } from './reads.ts';
import { parseJsonBody, readBody } from './request-body.ts';
import type { Traffic } from './traffic.ts';
import type { Truth } from './truth.ts';

const trafficSchema = z.strictObject({
  /** Changes per second; 0 stops. */
  rate: z.number().min(0).max(10_000),
  structural: z.boolean().optional(),
});
const loseNextSchema = z.strictObject({ count: z.int().min(0) });

/** Deliveries shown unless `?limit=` says otherwise. */
const DELIVERIES_SHOWN = 100;

/**
 * `/sandbox/*`: how people and scripts steer a running sandbox. It asks for no credentials: the listener is on
 * loopback, and a body must be JSON by its Content-Type, which keeps a web page from posting here unasked.
 */
export function createControl(deps: {
  clock: Clock;
  truth: Truth;
  operations: Operations;
  traffic: Traffic;
  network: Network;
  reads: Reads;
  deliveries: Deliveries;
}): Hono<ApiEnv> {
  const { truth, operations, traffic, network, deliveries } = deps;
  const app = new Hono<ApiEnv>();

  const body = async <Shape extends z.ZodRawShape>(context: Context<ApiEnv>, schema: z.ZodObject<Shape>) =>
    parseJsonBody(await readBody(context.env.incoming), context.req.header('Content-Type'), schema, {
      optional: false,
    });

  app.get('/truth', (context) => context.json(renameKeys(truth.snapshot(), toSnakeCase) as object));

  app.get('/deliveries', (context) => {
    const limit = Number(context.req.query('limit') ?? DELIVERIES_SHOWN);
    const shown = Number.isSafeInteger(limit) && limit > 0 ? limit : DELIVERIES_SHOWN;
    return context.json({
      counts: deliveries.counts,
      deliveries: deliveries.records.slice(-shown).map(show),
    });
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

  app.post('/operations', async (context) =>
    context.json(runOperation(operations, await body(context, z.looseObject({})))),
  );

  return app;
}

function show(record: DeliveryRecord) {
  return {
    request_id: record.delivery.requestId,
    duplicate: record.duplicate,
    outcome: record.outcome,
    status: record.status,
    ms: record.ms,
    created_at: record.createdAtMs,
    sent_at: record.sentAtMs,
    items: record.delivery.items,
  };
}
