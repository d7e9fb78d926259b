import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { ApiEnv } from '../api/api.ts';
import { ApiError } from '../shared/errors.ts';

/**
 * Defeats DNS rebinding: to the browser, a foreign page whose name resolves to 127.0.0.1 has the sandbox's origin, and
 * only the Host header still shows its name.
 */
export const refuseForeignHost: MiddlewareHandler<ApiEnv> = async (context, next) => {
  const port = context.env.incoming.socket.localPort;
  const host = context.req.header('Host');
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    throw new ApiError(
      403,
      'access_denied',
      `open it as http://127.0.0.1:${port} or http://localhost:${port}`,
    );
  }
  await next();
};

export const pageHeaders: MiddlewareHandler<ApiEnv> = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    connectSrc: ["'self'"],
    imgSrc: ['data:'],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  // Without any policy, a browser would send `Origin: null` with the page's own forms.
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
});
