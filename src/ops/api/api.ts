import type { OpsDeps } from '../shared/operator.ts';
import { changesRoutes } from './changes.ts';
import { historyRoutes } from './history.ts';
import { apiRouter, type ApiRouter } from './router.ts';
import { runsRoutes } from './runs.ts';
import { statusRoutes } from './status.ts';
import { stockRoutes } from './stock.ts';

const description = `The state, stock, changes and runs of one mirror.

Lists are paged: while \`has_more\` is true, ask again with \`after\` = \`next\`. Unknown parameters and fields are refused by name. Errors are {error, error_description}. New fields may appear in answers at any time.`;

export function createApi(deps: OpsDeps): ApiRouter {
  const api = apiRouter();
  for (const routes of [statusRoutes, stockRoutes, changesRoutes, historyRoutes, runsRoutes]) {
    api.route('/', routes(deps));
  }

  let document: object | null = null;
  // Made on request, since it would slow down each start.
  api.get('/openapi.json', (c) => c.json((document ??= describe(api))));
  return api;
}

function describe(api: ApiRouter): object {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description:
      'OPS_TOKEN, or OPS_READ_TOKEN for GET and HEAD, if they are set. A browser may sign in at /login instead.',
  });
  return api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'stock-mirror', version: '1.0.0', description },
    security: [{ token: [] }, {}],
  });
}
