/** A hono app on a socket, with the limits that keep slow and oversized requests from holding it. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { authorityOf } from './authority.ts';
import { Slots } from './slots.ts';

interface App {
  readonly fetch: Parameters<typeof createAdaptorServer>[0]['fetch'];
  /**
   * Nothing of it depends on the Host that a request names, and every answer is short: a request without a Host, or with
   * an odd one, is answered all the same, and who closes its half behind its request waits for the answer.
   */
  readonly isLenient?: boolean;
}

export interface Listener {
  readonly host: string;
  /** The port really listened on, also when 0 was asked for. */
  readonly port: number;
  /**
   * Stops accepting, lets requests under way end, and cuts what is left after `graceMs`. A connection that is kept
   * alive may have its next request on the way: for a moment it is still answered, and told that it is the last.
   */
  stop(graceMs: number): Promise<void>;
}

/** Headers, then the whole request, must be here within these times. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const CHECK_EVERY_MS = 1_000;
/** Connections that the kernel holds for the next process over a restart. Node's own 511 would shrink a passed socket's. */
const BACKLOG = 4_096;
/** How long idle connections are kept when the listener stops: longer than a request is on its way. */
const LINGER_MS = 500;

/**
 * @param fd a descriptor that is listened on already, in place of host and port. It is closed here when the listener
 * stops; whoever else holds it keeps the connections that come meanwhile.
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
  if (app.isLenient === true) {
    server.httpAllowHalfOpen = true;
    // The adaptor makes a URL of it, and refuses what it cannot.
    server.prependListener('request', ({ headers }) => (headers.host = 'localhost'));
  }
  const address = fd === undefined ? await listenOn(server, host, port) : await takeOver(server, fd);
  const connections = new Connections(server);
  return {
    host: fd === undefined ? host : address.address,
    port: address.port,
    async stop(graceMs: number): Promise<void> {
      const closed = once(server, 'close');
      // Not the HTTP server's own: that one cuts idle connections at once, with whatever is on its way on them.
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

interface Connection {
  readonly socket: Socket;
  /** Requests that are under way on it. */
  underWay: number;
}

const CONNECTION = Symbol('connection');

/** The connections that have had a request, and how they end when the listener stops. */
class Connections {
  readonly #open = new Slots<Connection>();
  #isEnding = false;

  constructor(server: Server) {
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const known = socket as Socket & { [CONNECTION]?: Connection };
      const connection = (known[CONNECTION] ??= this.#begin(socket));
      connection.underWay += 1;
      response.once('close', () => {
        connection.underWay -= 1;
      });
      if (this.#isEnding) response.setHeader('Connection', 'close');
    });
  }

  #begin(socket: Socket): Connection {
    const connection = { socket, underWay: 0 };
    const slot = this.#open.put(connection);
    socket.once('close', () => this.#open.take(slot));
    return connection;
  }

  /** Answers are the last of their connection from now on. */
  beginToEnd(): void {
    this.#isEnding = true;
  }

  /**
   * Half of each: the other side may have sent a request that is not here yet. There is no way left to answer it, but
   * it is taken; when it has read the end, the other side closes its half.
   */
  endIdle(): void {
    for (const [, { socket, underWay }] of this.#open.entries()) if (underWay === 0) socket.end();
  }
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
  const remedy = 'let a socket unit with ListenStream=<address>:<port> start the service';
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
