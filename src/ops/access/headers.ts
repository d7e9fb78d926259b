import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { OpsEnv } from '../shared/env.ts';

/** For every answer: nothing is loaded from other sites, nothing is framed, nothing is cached. */
const secure: MiddlewareHandler<OpsEnv> = secureHeaders({
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
  // TLS ends at a proxy: only the proxy can say whether there is any.
  strictTransportSecurity: false,
});

export const securityHeaders: MiddlewareHandler<OpsEnv> = (c, next) =>
  secure(c, async () => {
    await next();
    // Answers are current and private. Style sheets and scripts set their own header.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('Cache-Control', 'no-store');
  });
