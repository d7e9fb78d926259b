import { Hono, type Context } from 'hono';
import type { ApiEnv } from '../api/api.ts';
import { parseJsonBody, readBody } from '../api/request-body.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Store } from '../store.ts';
import { ACTIONS } from './actions.ts';
import { snakeCased } from './names.ts';

const MOST_SHOWN = 100;

/** `/sandbox/*` needs no credentials: it listens on loopback, and foreign web pages cannot send a JSON Content-Type. */
export function createControl(store: Store): Hono<ApiEnv> {
  const { deliveries, truth } = store;
  const app = new Hono<ApiEnv>();

  const limitOf = (context: Context<ApiEnv>): number => {
    const limit = Number(context.req.query('limit') ?? MOST_SHOWN);
    return Number.isSafeInteger(limit) && limit > 0 ? limit : MOST_SHOWN;
  };

  app.get('/truth', (context) => context.json(snakeCased(truth.snapshot()) as object));
  app.get('/deliveries', (context) => {
    const latest = deliveries.records.slice(-limitOf(context)).map(showDelivery);
    return context.json({ counts: deliveries.counts, deliveries: latest });
  });
  for (const [name, { schema, show, run }] of Object.entries(ACTIONS)) {
    if (show !== undefined) app.get(`/${name}`, (context) => context.json(show(store)));
    app.post(`/${name}`, async (context) => {
      const raw = await readBody(context.env.incoming);
      const body = parseJsonBody(raw, context.req.header('Content-Type'), schema, { optional: false });
      return context.json(run(store, body) ?? show?.(store) ?? {});
    });
  }
  return app;
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
