import type { Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { createGuardedApp } from './access/guarded.ts';
import { createApi } from './api/api.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { errorBody } from './shared/error-body.ts';
import { wantsPage, type OpsEnv } from './shared/env.ts';
import type { OpsDeps } from './shared/operator.ts';
import { createPage } from './page/page.ts';

export function createOpsApp(deps: OpsDeps): Hono<OpsEnv> {
  const { log } = deps;
  const app = createGuardedApp(deps);
  app.get('/metrics', async (c) =>
    c.body(await deps.metrics.metrics(), 200, { 'Content-Type': deps.metrics.contentType }),
  );
  app.route('/', createApi(deps));
  const pages = createPage(deps);
  app.route('/', pages.app);

  app.notFound((c) =>
    isForPeople(c)
      ? pages.nowhere(c)
      : c.json(errorBody('not_found', `there is no ${c.req.method} ${c.req.path}`), 404),
  );
  app.onError((cause, c) => {
    // The framework throws it for a body that is not JSON and for a path that cannot be decoded.
    if (cause instanceof HTTPException && cause.status < 500) {
      return c.json(errorBody('invalid_request', cause.message), 400);
    }
    if (cause instanceof SqliteFault) {
      log.warn({ err: cause, path: c.req.path }, 'the mirror cannot be read or written at the moment');
      return c.json(errorBody('unavailable', cause.message), 503);
    }
    log.error({ err: cause, path: c.req.path }, 'a request to the private listener failed');
    return c.json(errorBody('server_error', cause.message), 500);
  });
  return app;
}

function isForPeople(c: Context): boolean {
  return c.req.method === 'GET' && !c.req.path.startsWith('/api/') && wantsPage(c);
}
