import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import type { ApiEnv } from '../api.ts';
import { ApiError } from '../errors.ts';

/**
 * A foreign page whose name was made to resolve to 127.0.0.1 is of one origin with the sandbox as the browser sees it,
 * and only the Host header still tells its name.
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

/** A form of another site, posted by the browser of whoever works here, is not theirs. */
export const refuseForeignForms: MiddlewareHandler<ApiEnv> = csrf();

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
  // With none at all, a browser would send `Origin: null` with the page's own forms.
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
});
