/** Access control of the private listener: everything routed afterwards requires a sign-in. */
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { loginRoutes, requireSignIn, SignIn, type SignInDeps } from './sign-in.ts';
import { pageFiles } from '../../web/files.ts';
import { pageHeaders } from '../../web/headers.ts';
import { errorBody } from '../shared/api-error.ts';
import { isSafe, type OpsEnv } from '../shared/env.ts';

type Guard = MiddlewareHandler<OpsEnv>;

const MAX_BODY_BYTES = 1 << 20;

export function createGuardedApp(deps: SignInDeps): Hono<OpsEnv> {
  const signIn = new SignIn(deps);
  const app = new Hono<OpsEnv>();
  const tooLarge = (c: Context) => c.json(errorBody('invalid_request', 'the body is larger than 1 MB'), 413);
  app.use(pageHeaders);
  if (deps.token === null) app.use(refuseForeignHost);
  app.use(refuseCrossSite, bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.route('/', pageFiles<OpsEnv>());
  app.route('/', loginRoutes(signIn));
  app.use(requireSignIn(signIn));
  app.use('/api/*', requireJson);
  return app;
}

/** Defeats DNS rebinding: only the Host header shows a foreign name. Any port passes, since it may be forwarded. */
const refuseForeignHost: Guard = async (c, next) => {
  const host = `http://${c.req.header('host') ?? new URL(c.req.url).host}`;
  const name = URL.canParse(host) ? new URL(host).hostname : '';
  if (name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)) return next();
  const words = 'without OPS_TOKEN, only requests to 127.0.0.1, [::1] or localhost are answered';
  return c.json(errorBody('access_denied', words), 403);
};

/** Pages of other sites cannot forge `Sec-Fetch-Site`, which browsers omit over plain http, except on this machine. */
const refuseCrossSite: Guard = async (c, next) => {
  const { 'sec-fetch-site': site, origin, host } = c.req.header();
  const isSameHost = origin === undefined || origin.replace(/^https?:\/\//, '') === host;
  const isOwn = site === undefined ? isSameHost : site === 'same-origin' || site === 'none';
  if (isOwn || isSafe(c)) return next();
  return c.json(errorBody('access_denied', 'requests from other sites are refused'), 403);
};

/** Foreign forms cannot send this type, and foreign scripts cannot without a preflight request. */
const requireJson: Guard = async (c, next) => {
  if (isSafe(c) || /^application\/json\b/i.test(c.req.header('content-type') ?? '')) return next();
  return c.json(errorBody('invalid_request', 'send a JSON body with Content-Type: application/json'), 400);
};
