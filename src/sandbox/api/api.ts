import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import type { Answer } from '../network/reads.ts';
import type { Store } from '../store.ts';
import { ApiError } from '../shared/errors.ts';
import { endpointsOf } from './endpoints.ts';
import { parseJsonBody, readBody } from './request-body.ts';

export interface ApiEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: { readonly requestId: string };
}

export function createApi(store: Store): Hono<ApiEnv> {
  const { clock, oauth, reads, requests } = store;
  const endpoints = endpointsOf(store);
  const app = new Hono<ApiEnv>();

  const respond = (context: Context<ApiEnv>, answer: Answer): Response => {
    const headers = {
      ...answer.headers,
      'Content-Type': 'application/json; charset=utf-8',
      'X-Request-Id': context.get('requestId'),
      // By the store's clock, so that clients see its offset.
      Date: new Date(clock.now()).toUTCString(),
    };
    return new Response(JSON.stringify(answer.body), { status: answer.status, headers });
  };
  const received = async (context: Context<ApiEnv>): Promise<Buffer> => {
    requests[context.req.path] = (requests[context.req.path] ?? 0) + 1;
    return readBody(context.env.incoming);
  };

  app.use(async (context, next) => {
    context.set('requestId', context.req.header('X-Request-Id') || randomUUID());
    await next();
  });

  app.post('/oauth/token', async (context) => {
    const ip = getConnInfo(context).remote.address ?? '';
    const raw = await received(context);
    oauth.admitIp(ip);
    const contentType = context.req.header('Content-Type');
    const body = oauth.issue({ raw, contentType, ip });
    return respond(context, { status: 200, headers: { 'Cache-Control': 'no-store' }, body });
  });

  for (const endpoint of endpoints) {
    app.post(endpoint.path, async (context) => {
      const raw = await received(context);
      const [, token] = /^Bearer +([^\s]+)$/i.exec(context.req.header('Authorization') ?? '') ?? [];
      if (token === undefined || !oauth.accepts(token)) {
        throw new ApiError(401, 'invalid_token', 'the access token is missing, malformed or expired');
      }
      const body = parseJsonBody(raw, context.req.header('Content-Type'), endpoint.schema, {
        optional: endpoint.bodyOptional === true,
      });
      const requestId = context.get('requestId');
      // A miss is sampled like other answers: delaying it must not turn it into a hit.
      const sample = (ageMs: number): Answer => {
        try {
          return endpoint.answer(body, { requestId, ageMs });
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          return answerOf(error);
        }
      };
      const answer = await reads.serve({ endpoint: endpoint.path, body, sample });
      if (answer === 'reset') {
        context.env.incoming.socket.resetAndDestroy();
        return RESPONSE_ALREADY_SENT;
      }
      return respond(context, answer);
    });
  }

  const fail = (context: Context<ApiEnv>, error: ApiError): Response => respond(context, answerOf(error));
  const nowhere = new ApiError(404, 'not_found', 'no such endpoint: every endpoint is a POST');
  const broken = new ApiError(500, 'server_error', 'something failed in the store');
  app.notFound((context) => fail(context, nowhere));
  app.onError((error, context) => fail(context, error instanceof ApiError ? error : broken));
  return app;
}

function answerOf({ status, code, message, headers }: ApiError): Answer {
  return { status, headers, body: { error: code, error_description: message } };
}
