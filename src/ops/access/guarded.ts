/** Access control of the private listener: everything routed afterwards requires a sign-in. */
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { loginRoutes, requireSignIn, SignIn, type SignInDeps } from './sign-in.ts';
import { BODY_TOO_LARGE, MAX_BODY_BYTES } from '../../store-api/contract/body-limit.ts';
import { isLoopback } from '../../platform/authority.ts';
import { pageFiles } from '../../web/files.ts';
import { pageHeaders } from '../../web/headers.ts';
import { errorBody } from '../shared/error-body.ts';
import { isSafe, type OpsEnv } from '../shared/env.ts';
import { refused } from './refusal.ts';

type Guard = MiddlewareHandler<OpsEnv>;

export function createGuardedApp(deps: SignInDeps): Hono<OpsEnv> {
  const signIn = new SignIn(deps);
  const app = new Hono<OpsEnv>();
  const tooLarge = (c: Context) => c.json(errorBody('invalid_request', BODY_TOO_LARGE), 413);
  app.use(pageHeaders);
  if (deps.token === null) app.use(refuseForeignHost);
  app.use(refuseCrossSite, bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.route('/', pageFiles<OpsEnv>());
  app.route('/', loginRoutes(signIn));
  app.use(requireSignIn(signIn));
  app.use('/api/*', requireJson);
  return app;
}

const refuseForeignHost: Guard = async (c, next) => {
  const host = hostOf(c);
  if (isOwnName(host)) return next();
  return refused(c, {
    reason:
      'Without OPS_TOKEN, only requests to 127.0.0.1, [::1] or localhost are answered, ' +
      `and the Host header is ${host}.`,
    remedy:
      'Open the page at 127.0.0.1 or localhost, from another host over ssh -L; or set OPS_TOKEN and ' +
      'restart the mirror.',
    lines: [],
  });
};

/** Only the Host header shows that a foreign name resolves to 127.0.0.1 (DNS rebinding). */
function isOwnName(host: string): boolean {
  const address = `http://${host}`;
  if (!URL.canParse(address)) return false;
  return isLoopback(new URL(address).hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Pages of other sites cannot forge `Sec-Fetch-Site`, which browsers omit over plain http, except on this machine. */
const refuseCrossSite: Guard = async (c, next) => {
  const { 'sec-fetch-site': site, origin } = c.req.header();
  const host = hostOf(c);
  const isSameHost = origin === undefined || origin.replace(/^https?:\/\//, '') === host;
  const isOwn = site === undefined ? isSameHost : site === 'same-origin' || site === 'none';
  if (isOwn || isSafe(c)) return next();
  return refused(
    c,
    site === undefined
      ? {
          reason:
            `Requests from other sites are refused: the Origin header is ${origin}, ` +
            `and the Host header is ${host}.`,
          remedy:
            'If both are this mirror, the proxy between them replaces the Host header. Let it pass ' +
            'the header unchanged; in nginx, next to proxy_pass:',
          lines: ['proxy_set_header Host $http_host;', 'proxy_set_header X-Forwarded-Proto $scheme;'],
        }
      : {
          reason:
            `Requests from other sites are refused: the Origin header is ${origin ?? 'missing'}, ` +
            `and the browser calls it ${site}.`,
          remedy: 'Open the mirror’s page itself, and send the form there.',
          lines: [],
        },
  );
};

function hostOf({ req }: Context): string {
  return req.header('host') ?? new URL(req.url).host;
}

/** Foreign forms cannot send this type, and foreign scripts cannot without a preflight request. */
const requireJson: Guard = async (c, next) => {
  if (isSafe(c) || /^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')) return next();
  return c.json(errorBody('invalid_request', 'send a JSON body with Content-Type: application/json'), 400);
};
