import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { OpsEnv } from '../env.ts';

/** Of every answer: nothing of another site is loaded, nothing is framed, nothing is kept by caches. */
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
  // With none at all, a browser would send `Origin: null` with the page's own forms.
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // Whether there is TLS is for whoever put it in front to say.
  strictTransportSecurity: false,
});

export const securityHeaders: MiddlewareHandler<OpsEnv> = (c, next) =>
  secure(c, async () => {
    await next();
    // What it shows is of this moment, and not for everybody. Style sheets and scripts say otherwise themselves.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('Cache-Control', 'no-store');
  });
