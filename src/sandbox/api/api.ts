import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Call, CallLog } from '../shared/calls.ts';
import type { Clock } from '../world/clock.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from '../shared/errors.ts';
import { describeService } from './openapi.ts';
import type { TokenIssuer } from './oauth.ts';
import type { Answer, Reads } from '../network/reads.ts';
import { parseJsonBody, readBody } from './request-body.ts';
import { answerTokenRequest } from './token-endpoint.ts';

/** Requests so far, by path. */
export type RequestCounters = Record<string, number>;

export interface ApiEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: {
    readonly requestId: string;
    /** Of a request to the store's API; the sandbox's own pages and controls have none. */
    readonly call?: Call;
  };
}

/** What the store itself answers; the rest is the sandbox's. */
const STORE = /^\/(oauth|v1)\//;

/** The store's HTTP API: common conventions and errors around a table of endpoints. */
export function createApi(deps: {
  readonly clock: Clock;
  readonly issuer: TokenIssuer;
  readonly reads: Reads;
  readonly endpoints: readonly Endpoint[];
  readonly requests: RequestCounters;
  readonly calls: CallLog;
  /** A product detail was answered that shows the truth of so long ago. */
  readonly onDetail: (productId: string, ageMs: number) => void;
}): Hono<ApiEnv> {
  const { clock, issuer, reads, requests, calls, onDetail } = deps;
  const app = new Hono<ApiEnv>();

  const respond = (context: Context<ApiEnv>, answer: Answer): Response => {
    const text = JSON.stringify(answer.body);
    const headers = {
      ...answer.headers,
      'Content-Type': 'application/json; charset=utf-8',
      'X-Request-Id': context.get('requestId'),
      // From the store's own clock: an offset must show where a client would look for it.
      Date: new Date(clock.now()).toUTCString(),
    };
    const call = context.get('call');
    if (call !== undefined) calls.answered(call, answer.status, headers, text);
    return new Response(text, { status: answer.status, headers });
  };
  /** What the caller sent, which is kept for people to look at. */
  const received = async (context: Context<ApiEnv>): Promise<Buffer> => {
    const raw = await readBody(context.env.incoming);
    const call = context.get('call');
    if (call !== undefined) calls.received(call, raw);
    return raw;
  };
  const blame = (context: Context<ApiEnv>, words: string, { isFault } = { isFault: false }): void => {
    const call = context.get('call');
    if (call !== undefined) call.trouble ??= { words, isFault };
  };
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
    const { method, path, url } = context.req;
    if (STORE.test(path)) {
      const headers = Object.entries(context.req.header());
      context.set('call', calls.open({ method, target: path + new URL(url).search, headers }));
    }
    await next();
  });

  app.post('/oauth/token', async (context) => {
    count('/oauth/token');
    const ip = getConnInfo(context).remote.address ?? '';
    const raw = await received(context);
    issuer.admitIp(ip);
    const contentType = context.req.header('Content-Type');
    try {
      return respond(context, answerTokenRequest(issuer, { raw, contentType, ip }));
    } catch (error) {
      if (error instanceof ApiError && error.code === 'invalid_client') {
        const id = new URLSearchParams(raw.toString('utf8')).get('client_id') ?? '';
        blame(
          context,
          issuer.hasClient(id)
            ? `the client_secret is not that of ${id}`
            : `there is no client_id ${id} here`,
        );
      }
      throw error;
    }
  });

  for (const endpoint of deps.endpoints) {
    app.post(endpoint.path, async (context) => {
      count(endpoint.path);
      const raw = await received(context);
      const authorization = context.req.header('Authorization');
      const [, token] = /^Bearer +([^\s]+)$/i.exec(authorization ?? '') ?? [];
      const clientId = token === undefined ? undefined : issuer.channelOf(token);
      if (clientId === undefined) {
        blame(context, whyRefused(issuer, authorization, token));
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
          blame(context, error.message);
          return { status: error.status, body: { error: error.code, error_description: error.message } };
        }
      };
      const answer = await reads.serve({ endpoint: endpoint.path, body, sample }).catch((error: unknown) => {
        if (error instanceof ApiError) blame(context, error.message, { isFault: true });
        throw error;
      });
      if (answer === 'reset') {
        const call = context.get('call');
        if (call !== undefined) calls.cut(call);
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

  const paths = ['/oauth/token', ...deps.endpoints.map(({ path }) => path)];
  app.notFound((context) => {
    const { method, path } = context.req;
    blame(
      context,
      paths.includes(path)
        ? `every endpoint takes POST: this was ${method}`
        : `no such path; the paths are ${paths.join(', ')}`,
    );
    return answerError(context, new ApiError(404, 'not_found', 'no such endpoint'));
  });
  app.onError((error, context) => {
    const known =
      error instanceof ApiError ? error : new ApiError(500, 'server_error', 'something failed in the store');
    blame(context, known.message);
    return answerError(context, known);
  });
  return app;
}

/** For people only: the answer itself does not say which, as the store's does not. */
function whyRefused(issuer: TokenIssuer, header: string | undefined, token: string | undefined): string {
  if (header === undefined)
    return 'the header Authorization is missing: send "Bearer" and a token from POST /oauth/token';
  if (token === undefined) return 'the header Authorization must be "Bearer", a space, and the token';
  if (issuer.hasExpired(token)) return 'the token has expired: ask for another one, once';
  return 'this sandbox did not give out this token: it forgets its tokens when it ends';
}
