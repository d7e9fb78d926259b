import type { Hono } from 'hono';
import { createGuardedApp } from './access/guarded.ts';
import { errorBody } from './shared/error-body.ts';
import { wantsPage, type OpsEnv } from './shared/env.ts';
import type { OpsDeps } from './shared/operator.ts';

type ReceiverDeps = Parameters<typeof createGuardedApp>[0] & Pick<OpsDeps, 'metrics' | 'watch' | 'commandOf'>;

export function createReceiverApp({ metrics, watch, commandOf, ...access }: ReceiverDeps): Hono<OpsEnv> {
  const app = createGuardedApp(access);
  app.get('/metrics', async (c) =>
    c.body(await metrics.metrics(), 200, { 'Content-Type': metrics.contentType }),
  );
  app.get('/readyz', async (c) => {
    const { state } = await watch.shown();
    return c.json({ state }, state === 'live' ? 200 : 503);
  });
  app.get('/api/status', async (c) => c.json(await watch.shown()));
  app.get('/', async (c) => {
    if (!wantsPage(c)) return c.notFound();
    // Only people need it, and a receiver is to stay small.
    const { receiverPage } = await import('./page/receiver-view.ts');
    return c.html(receiverPage(await watch.shown(), { nowMs: access.now(), commandOf }));
  });
  app.get('/causes', async (c) => {
    const { receiverCausesPage } = await import('./page/receiver-view.ts');
    return c.html(receiverCausesPage(await watch.shown(), commandOf));
  });
  app.notFound((c) =>
    c.json(
      errorBody('not_found', 'this host only receives webhooks (ROLE=receiver): read from a mirror'),
      404,
    ),
  );
  return app;
}
