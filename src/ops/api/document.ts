/** `GET /openapi.json`: the API, described by the schemas that it uses. */
import type { ApiRouter } from './router.ts';

const description = `The state, stock, changes and runs of one mirror.

Lists are paged: while \`has_more\` is true, ask again with \`after\` = \`next\`. Unknown parameters and fields are refused by name. Errors are {error, error_description}. New fields may appear in answers at any time.`;

export type OpsDocument = ReturnType<typeof describeApi>;

export function describeApi(api: ApiRouter) {
  api.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'The value of OPS_TOKEN, if it is set. A browser may sign in at /login instead.',
  });
  return api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'stock-mirror', version: '1.0.0', description },
    security: [{ token: [] }, {}],
  });
}
