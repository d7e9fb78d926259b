/** A hono app on a socket, with limits on slow and oversized requests. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { authorityOf } from './authority.ts';
import { Connections, type Door } from './connections.ts';

interface App {
  readonly fetch: Parameters<typeof createAdaptorServer>[0]['fetch'];
  /**
   * The app does not depend on the Host header, and its answers are short: requests without a Host, or with an odd one,
   * are answered, and so are senders that close their half of the connection after the request.
   */
  readonly isLenient?: boolean;
  /** Strangers can reach it: each connection gets its share, and no more. */
  readonly door?: Door;
}

export interface Listener {
  readonly host: string;
  /** The actual port, also when 0 was requested. */
  readonly port: number;
  /**
   * Stops accepting, lets requests under way end, and cuts the rest after `graceMs`. A connection that is kept alive
   * may have its next request on the way: for a moment it is still answered, with `Connection: close`.
   */
  stop(graceMs: number): Promise<void>;
}

/** Headers, then the whole request, must have arrived within these times. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const CHECK_EVERY_MS = 1_000;
/** Connections that the kernel queues during a restart. Node's default of 511 would shrink the queue of a passed socket. */
const BACKLOG = 4_096;
/** How long idle connections are kept when the listener stops: longer than a request travels. */
const LINGER_MS = 500;

/**
 * @param fd a descriptor that is already listening, in place of host and port. It is closed when the listener stops;
 * another process that holds it keeps the connections that arrive meanwhile.
 * @throws Error naming host and port, or the descriptor, when they cannot be listened on.
 */
export async function listen(app: App, host: string, port: number, fd?: number): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      maxHeaderSize: 16 << 10,
      requireHostHeader: app.isLenient !== true,
    },
  }) as Server & { httpAllowHalfOpen: boolean };
  const connections = new Connections(server, app.door ?? null);
  if (app.isLenient === true) {
    server.httpAllowHalfOpen = true;
    // The adaptor builds a URL from it, and refuses what it cannot parse.
    server.prependListener('request', ({ headers }) => (headers.host = 'localhost'));
  }
  const address = fd === undefined ? await listenOn(server, host, port) : await takeOver(server, fd);
  return {
    host: fd === undefined ? host : address.address,
    port: address.port,
    async stop(graceMs: number): Promise<void> {
      const closed = once(server, 'close');
      // Not the HTTP server's own close: that cuts idle connections at once, with the requests on their way.
      NetServer.prototype.close.call(server);
      connections.beginToEnd();
      const endIdle = setTimeout(() => connections.endIdle(), Math.min(LINGER_MS, graceMs));
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(endIdle);
      clearTimeout(cut);
    },
  };
}

async function listenOn(server: Server, host: string, port: number): Promise<AddressInfo> {
  try {
    server.listen(port, host, BACKLOG);
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`cannot listen on ${authorityOf({ host, port })}: free the port, or set another one`, {
      cause: error,
    });
  }
  return server.address() as AddressInfo;
}

async function takeOver(server: Server, fd: number): Promise<AddressInfo> {
  const remedy = 'let a socket unit with ListenStream=<address>:<port> start the mirror';
  try {
    server.listen({ fd }, BACKLOG);
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`cannot listen on descriptor ${fd}, which LISTEN_FDS names: ${remedy}`, { cause: error });
  }
  const address = server.address();
  if (typeof address === 'object' && address !== null) return address;
  server.close();
  throw new Error(`descriptor ${fd}, which LISTEN_FDS names, is no TCP socket: ${remedy}`);
}
