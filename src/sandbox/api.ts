import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { describeService } from './openapi.ts';
import type { TokenIssuer } from './oauth.ts';
import type { Answer, Reads } from './reads.ts';
import { parseJsonBody, readBody } from './request-body.ts';
import { answerTokenRequest } from './token-endpoint.ts';

/** Requests so far, by path. */
export type RequestCounters = Record<string, number>;

export interface ApiEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: { readonly requestId: string };
}

/** The store's HTTP API: common conventions and errors around a table of endpoints. */
export function createApi(deps: {
  readonly clock: Clock;
  readonly issuer: TokenIssuer;
  readonly reads: Reads;
  readonly endpoints: readonly Endpoint[];
  readonly requests: RequestCounters;
  /** A product detail was answered that shows the truth of so long ago. */
  readonly onDetail: (productId: string, ageMs: number) => void;
}): Hono<ApiEnv> {
  const { clock, issuer, reads, requests, onDetail } = deps;
  const app = new Hono<ApiEnv>();

  const respond = (context: Context<ApiEnv>, answer: Answer): Response =>
    new Response(JSON.stringify(answer.body), {
      status: answer.status,
      headers: {
        ...answer.headers,
        'Content-Type': 'application/json; charset=utf-8',
        'X-Request-Id': context.get('requestId'),
        // From the store's own clock: an offset must show where a client would look for it.
        Date: new Date(clock.now()).toUTCString(),
      },
    });
  const answerError = (context: Context<ApiEnv>, error: ApiError): Response =>
    respond(context, {
      status: error.status,
      headers: error.headers,
      body: { error: error.code, error_description: error.message },
    });
  const count = (path: string): void => {
    requests[path] = (requests[path] ?? 0) + 1;
  };

  app.use(async (context, next) => {
    // An empty header counts as absent.
    context.set('requestId', context.req.header('X-Request-Id') || randomUUID());
    await next();
  });

  app.post('/oauth/token', async (context) => {
    count('/oauth/token');
    const ip = getConnInfo(context).remote.address ?? '';
    const raw = await readBody(context.env.incoming);
    issuer.admitIp(ip);
    const contentType = context.req.header('Content-Type');
    return respond(context, answerTokenRequest(issuer, { raw, contentType, ip }));
  });

  for (const endpoint of deps.endpoints) {
    app.post(endpoint.path, async (context) => {
      count(endpoint.path);
      const raw = await readBody(context.env.incoming);
      const [, token] = /^Bearer +([^\s]+)$/i.exec(context.req.header('Authorization') ?? '') ?? [];
      const clientId = token === undefined ? undefined : issuer.channelOf(token);
      if (clientId === undefined) {
        throw new ApiError(401, 'invalid_token', 'the access token is missing, malformed or expired');
      }
      const body = parseJsonBody(raw, context.req.header('Content-Type'), endpoint.schema, {
        optional: endpoint.bodyOptional,
      });
      const requestId = context.get('requestId');
      // A miss is sampled like any answer: holding or delaying it must not turn it into a hit.
      let shownAgeMs = 0;
      const sample = (ageMs: number): Answer => {
        shownAgeMs = ageMs;
        try {
          return endpoint.answer(body, { requestId, clientId, ageMs });
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          return { status: error.status, body: { error: error.code, error_description: error.message } };
        }
      };
      const answer = await reads.serve({ endpoint: endpoint.path, body, sample });
      if (answer === 'reset') {
        context.env.incoming.socket.resetAndDestroy();
        return RESPONSE_ALREADY_SENT;
      }
      if (answer.status === 200 && endpoint.path === '/v1/product/detail') {
        onDetail(String(body['product_id']), shownAgeMs);
      }
      return respond(context, answer);
    });
  }

  let document: ReturnType<typeof describeService> | undefined;
  app.get('/openapi.json', (context) => {
    document ??= describeService(deps.endpoints);
    const servers = [{ url: new URL(context.req.url).origin }];
    return respond(context, { status: 200, body: { ...document, servers } });
  });

  app.notFound((context) => answerError(context, new ApiError(404, 'not_found', 'no such endpoint')));
  app.onError((error, context) =>
    answerError(
      context,
      error instanceof ApiError ? error : new ApiError(500, 'server_error', 'something failed in the store'),
    ),
  );
  return app;
}
