/** Access control of the private listener: everything that is routed in this app afterwards requires a sign-in. */
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { secureHeaders } from 'hono/secure-headers';
import { loginRoutes, requireSignIn, SignIn, type SignInDeps } from './sign-in.ts';
import { pageFiles } from '../../web/files.ts';
import { errorBody } from '../shared/api-error.ts';
import { isSafe, type OpsEnv } from '../shared/env.ts';

type Guard = MiddlewareHandler<OpsEnv>;

const MAX_BODY_BYTES = 1 << 20;

export function createGuardedApp(deps: SignInDeps): Hono<OpsEnv> {
  const signIn = new SignIn(deps);
  const app = new Hono<OpsEnv>();
  const tooLarge = (c: Context) => c.json(errorBody('invalid_request', 'the body is larger than 1 MB'), 413);
  app.use(securityHeaders);
  if (deps.token === null) app.use(refuseForeignHost);
  app.use(refuseCrossSite, bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.route('/', pageFiles<OpsEnv>());
  app.route('/', loginRoutes(signIn));
  app.use(requireSignIn(signIn));
  app.use('/api/*', requireJson);
  return app;
}

const secure: Guard = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    connectSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  // Without any policy, a browser would send `Origin: null` with the page's own forms.
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // TLS ends at a proxy, and only the proxy knows whether there is any.
  strictTransportSecurity: false,
});

const securityHeaders: Guard = (c, next) =>
  secure(c, async () => {
    await next();
    // Answers are current and private. Style sheets and scripts set their own header.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('Cache-Control', 'no-store');
  });

/**
 * Defeats DNS rebinding where no token is configured: to a browser, a foreign page whose name resolves to 127.0.0.1 has
 * the listener's origin, and only the Host header shows its name. Any port passes, since one may be forwarded.
 */
const refuseForeignHost: Guard = async (c, next) => {
  const host = `http://${c.req.header('host') ?? new URL(c.req.url).host}`;
  const name = URL.canParse(host) ? new URL(host).hostname : '';
  if (name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)) return next();
  const words = 'without OPS_TOKEN, only requests to 127.0.0.1, [::1] or localhost are answered';
  return c.json(errorBody('access_denied', words), 403);
};

/**
 * A page of another site, open in the operator's browser, must not be able to act here. No page can forge
 * `Sec-Fetch-Site`; browsers leave it out over plain http, except on this machine.
 */
const refuseCrossSite: Guard = async (c, next) => {
  const { 'sec-fetch-site': site, origin, host } = c.req.header();
  const isSameHost = origin === undefined || origin.replace(/^https?:\/\//, '') === host;
  const isOwn = site === undefined ? isSameHost : site === 'same-origin' || site === 'none';
  if (isOwn || isSafe(c)) return next();
  return c.json(errorBody('access_denied', 'requests from other sites are refused'), 403);
};

/** A form cannot send this type, and a script of another site cannot without a preflight request. */
const requireJson: Guard = async (c, next) => {
  if (isSafe(c) || /^application\/json\b/i.test(c.req.header('content-type') ?? '')) return next();
  return c.json(errorBody('invalid_request', 'send a JSON body with Content-Type: application/json'), 400);
};
