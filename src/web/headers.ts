import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';

const secure = secureHeaders({
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

/** Security headers. Answers are current and private, and are not cached unless they say otherwise. */
export const pageHeaders: MiddlewareHandler = (c, next) =>
  secure(c, async () => {
    await next();
    if (!c.res.headers.has('cache-control')) c.res.headers.set('Cache-Control', 'no-store');
  });
