/** The private listener (DESIGN §5): state, runs, and the operator's word. Questions run on the reader's thread. */
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { z } from 'zod';
import { idSchema } from '../service/schemas.ts';
import { refuseCrossSite, requireJson } from './access/cross-site.ts';
import { securityHeaders } from './access/headers.ts';
import { refuseForeignHost } from './access/host.ts';
import { loginRoutes } from './access/login.ts';
import { createSessions } from './access/session.ts';
import { requireSignIn, type Lock } from './access/signed-in.ts';
import { compareWith } from './access/token.ts';
import { errorBody as error } from './api-error.ts';
import type { OpsEnv } from './env.ts';
import { metricsRoute } from './metrics-route.ts';
import type { OpsDeps } from './operator.ts';
import { createPage } from './page/page.ts';
import { viewRun } from './run-view.ts';

const resyncSchema = z.strictObject({
  product_ids: z.array(idSchema).min(1).max(10_000).optional(),
  allow_removals: z.boolean().optional(),
});

const MAX_BODY_BYTES = 1 << 20;
const RUNS_SHOWN = 50;
const PROGRESS_EVERY_MS = 500;

export function createOpsApp(deps: OpsDeps): Hono<OpsEnv> {
  const { reader, operator, token, metrics, alarms, now, log } = deps;
  const lock: Lock | null =
    token === null ? null : { isToken: compareWith(token), sessions: createSessions(token, now) };
  const app = new Hono<OpsEnv>();
  const tooLarge = (c: Context) => c.json(error('invalid_request', 'the body is larger than 1 MB'), 413);
  app.use(securityHeaders);
  if (lock === null) app.use(refuseForeignHost);
  app.use(refuseCrossSite, bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.route('/', loginRoutes({ lock, now, log }));
  // Everything from here on is for those who are signed in: handlers find how in `c.get('signedInBy')`.
  app.use(requireSignIn(lock));
  app.use('/api/*', requireJson);
  app.route('/', metricsRoute(metrics));
  app.route('/', createPage(deps));

  app.get('/readyz', async (c) => {
    const { state } = await reader.ask('status');
    return c.json({ state }, state === 'live' ? 200 : 503);
  });

  app.get('/api/status', async (c) =>
    c.json({
      ...(await reader.ask('status')),
      reads_under_way: operator.readsUnderWay,
      blocked: operator.blocked,
      alarms: alarms.current,
    }),
  );

  app.get('/api/runs', async (c) =>
    c.json({ runs: (await reader.ask('latestRuns', { limit: RUNS_SHOWN })).map(viewRun) }),
  );

  const runOf = async (text: string) => {
    const id = /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
    return id === null ? null : reader.ask('runById', { id });
  };

  app.get('/api/runs/:id', async (c) => {
    const run = await runOf(c.req.param('id'));
    return run === null
      ? c.json(error('not_found', `there is no run ${c.req.param('id')}`), 404)
      : c.json(viewRun(run));
  });

  app.get('/api/runs/:id/stream', async (c) => {
    const first = await runOf(c.req.param('id'));
    if (first === null) return c.json(error('not_found', `there is no run ${c.req.param('id')}`), 404);
    return streamSSE(c, async (stream) => {
      for (let run = first; ;) {
        await stream.writeSSE({ event: 'run', data: JSON.stringify(viewRun(run)) });
        if (run.state !== 'running' || stream.aborted) return;
        await stream.sleep(PROGRESS_EVERY_MS);
        run = (await reader.ask('runById', { id: run.id })) ?? run;
      }
    });
  });

  app.post('/api/resync', async (c) => {
    const json: unknown = await c.req.json().catch(() => undefined);
    const body = resyncSchema.safeParse(json);
    if (!body.success) {
      const [issue] = body.error.issues;
      const where = issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.join('.');
      return c.json(error('invalid_request', `${where}: ${issue?.message ?? 'not understood'}`), 400);
    }
    const run = await operator.resync(body.data.product_ids ?? null, {
      allowRemovals: body.data.allow_removals ?? false,
    });
    return c.json({ run_id: run.id }, 202);
  });

  app.notFound((c) => c.json(error('not_found', `there is no ${c.req.method} ${c.req.path}`), 404));
  app.onError((cause, c) => c.json(error('server_error', cause.message), 500));
  return app;
}
