/** `GET /openapi.json`: the API, described by the schemas that it answers by. */
import type { ApiRouter } from './router.ts';

const description = `State, stock, changes and runs of one mirror.

Lists go on with \`after\` = the \`next\` of the page before, while \`has_more\`. Unknown parameters and fields are refused by name. Errors are {error, error_description}. New fields may appear in answers at any time.`;

export type OpsDocument = ReturnType<typeof describeApi>;

export function describeApi(api: ApiRouter) {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'OPS_TOKEN, where one is configured. A browser may sign in at /login instead.',
  });
  return api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'stock-mirror', version: '1.0.0', description },
    security: [{ token: [] }, {}],
  });
}
