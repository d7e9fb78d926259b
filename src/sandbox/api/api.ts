import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Answer } from '../network/reads.ts';
import type { Store } from '../sandbox.ts';
import type { Call } from '../shared/calls.ts';
import { ApiError } from '../shared/errors.ts';
import { endpointsOf } from './endpoints.ts';
import { describeService } from './openapi.ts';
import { parseJsonBody, readBody } from './request-body.ts';

export interface ApiEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: {
    readonly requestId: string;
    /** Absent for the sandbox's page and controls. */
    readonly call?: Call;
  };
}

const STORE = /^\/(oauth|v1)\//;

export function createApi(store: Store): Hono<ApiEnv> {
  const { clock, oauth, reads, requests, calls } = store;
  const endpoints = endpointsOf(store);
  const app = new Hono<ApiEnv>();

  const respond = (context: Context<ApiEnv>, answer: Answer): Response => {
    const text = JSON.stringify(answer.body);
    const headers = {
      ...answer.headers,
      'Content-Type': 'application/json; charset=utf-8',
      'X-Request-Id': context.get('requestId'),
      // By the store's clock, so that clients see its offset.
      Date: new Date(clock.now()).toUTCString(),
    };
    calls.ended(context.get('call'), { status: answer.status, headers, text });
    return new Response(text, { status: answer.status, headers });
  };
  const received = async (context: Context<ApiEnv>): Promise<Buffer> => {
    requests[context.req.path] = (requests[context.req.path] ?? 0) + 1;
    const raw = await readBody(context.env.incoming);
    calls.received(context.get('call'), raw);
    return raw;
  };

  app.use(async (context, next) => {
    context.set('requestId', context.req.header('X-Request-Id') || randomUUID());
    const { method, path, url } = context.req;
    if (STORE.test(path)) {
      const headers = Object.entries(context.req.header());
      context.set('call', calls.open({ method, target: path + new URL(url).search, headers }));
    }
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
      const clientId = token === undefined ? undefined : oauth.channelOf(token);
      if (clientId === undefined) {
        throw new ApiError(401, 'invalid_token', 'the access token is missing, malformed or expired');
      }
      const body = parseJsonBody(raw, context.req.header('Content-Type'), endpoint.schema, {
        optional: endpoint.bodyOptional === true,
      });
      const requestId = context.get('requestId');
      // A miss is sampled like other answers: delaying it must not turn it into a hit.
      const sample = (ageMs: number): Answer => {
        try {
          return endpoint.answer(body, { requestId, clientId, ageMs });
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          return answerOf(error);
        }
      };
      const answer = await reads.serve({ endpoint: endpoint.path, body, sample });
      if (answer === 'reset') {
        calls.ended(context.get('call'), null);
        context.env.incoming.socket.resetAndDestroy();
        return RESPONSE_ALREADY_SENT;
      }
      return respond(context, answer);
    });
  }

  let document: ReturnType<typeof describeService> | undefined;
  app.get('/openapi.json', (context) => {
    document ??= describeService(endpoints);
    const servers = [{ url: new URL(context.req.url).origin }];
    return respond(context, { status: 200, body: { ...document, servers } });
  });

  const fail = (context: Context<ApiEnv>, error: ApiError): Response => respond(context, answerOf(error));
  const nowhere = new ApiError(
    404,
    'not_found',
    'no such endpoint: every endpoint is a POST, see /openapi.json',
  );
  const broken = new ApiError(500, 'server_error', 'something failed in the store');
  app.notFound((context) => fail(context, nowhere));
  app.onError((error, context) => fail(context, error instanceof ApiError ? error : broken));
  return app;
}

function answerOf({ status, code, message, headers }: ApiError): Answer {
  return { status, headers, body: { error: code, error_description: message } };
}
