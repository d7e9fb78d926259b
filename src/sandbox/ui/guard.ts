import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../api/api.ts';
import { ApiError } from '../shared/errors.ts';

/** Defeats DNS rebinding: only the Host header shows that a foreign name resolves to 127.0.0.1. */
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
