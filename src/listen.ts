/** A hono app on a socket, with the limits that keep slow and oversized requests from holding it. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';

interface App {
  readonly fetch: Parameters<typeof createAdaptorServer>[0]['fetch'];
}

export interface Listener {
  readonly host: string;
  /** The port really listened on, also when 0 was asked for. */
  readonly port: number;
  /** Stops accepting, lets requests under way end, and cuts what is left after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Headers, then the whole request, must be here within these times. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const CHECK_EVERY_MS = 1_000;
const CLOSE_IDLE_EVERY_MS = 20;

/** @throws Error naming host and port when they cannot be listened on. */
export async function listen(app: App, host: string, port: number): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      maxHeaderSize: 16 << 10,
    },
  }) as Server;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`cannot listen on ${host}:${port}: free the port, or set another one`, { cause: error });
  }
  const address = server.address();
  return {
    host,
    port: typeof address === 'object' && address !== null ? address.port : port,
    async stop(graceMs: number): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      // A kept-alive connection falls idle when its last request is answered, and would stay for a while.
      const closeIdle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(cut);
    },
  };
}
