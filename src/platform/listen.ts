import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { BACKLOG, isQueueFull } from './accept-queue.ts';
import { authorityOf } from './authority.ts';

interface App {
  readonly fetch: Parameters<typeof createAdaptorServer>[0]['fetch'];
  /**
   * Marks a listener for unauthenticated clients, which also answers requests without a valid Host header. Called for
   * requests that never reach `fetch`.
   */
  readonly onUnread?: (unread: Unread) => void;
  /** Called for each connection, before it is served. */
  readonly onConnection?: () => void;
}

export interface Unread {
  /**
   * - `no_room`: a connection beyond `MAX_CONNECTIONS`.
   * - `wrong_protocol`: the client spoke another protocol, such as TLS, which `seen` names.
   * - `malformed_request`: Node's parser refused a request that may be a webhook; `seen` is the parser's code.
   * - `cut_off`: the connection ended, or its time was over, within the headers of such a request.
   */
  readonly reason: 'no_room' | 'wrong_protocol' | 'malformed_request' | 'cut_off';
  /** The answer's status. */
  readonly status: number;
  readonly seen?: string;
}

export interface Listener {
  readonly host: string;
  /** The actual port, also when 0 was requested. */
  readonly port: number;
  /** The kernel may have refused connections until now; also where it does not show it. */
  isQueueFull(): boolean;
  /**
   * Stops accepting, lets requests under way end, and cuts the rest after `graceMs`. A request on its way on an idle
   * connection is still answered.
   */
  stop(graceMs: number): Promise<void>;
}

const TIMEOUTS = {
  /** From the first byte of a request to the end of its headers. */
  headersMs: 5_000,
  /** From the first byte of a request to its last. */
  requestMs: 10_000,
  /** Longer than a proxy keeps idle connections (docs/operating.md#proxies), so that no request crosses their end. */
  idleMs: 5 * 60_000,
  checkEveryMs: 1_000,
};
/** Proxies add headers. */
const MAX_HEADER_BYTES = 32 << 10;
/** Cuts connections without traffic. A stream sends something every 10 s. */
const STALLED_MS = 90_000;
const LIMITS = '/proc/self/limits';
const MAX_CONNECTIONS = 4_096;
/** How much of a connection's first piece is searched for the start of a webhook. */
const START_BYTES = 4_096;
/** How long idle connections stay open at a stop: longer than a request travels. */
const LINGER_MS = 500;

interface Address {
  readonly host: string;
  readonly port: number;
  /** A listening descriptor instead of host and port, closed at the stop. */
  readonly fd?: number | undefined;
  /** Prefix of the variables that set host and port. */
  readonly prefix?: '' | 'OPS_';
}

/** Two listeners leave a third of the open files. Beyond the system's limit, the kernel silently closes connections. */
function maxConnections(): number {
  const limits = existsSync(LIMITS) ? readFileSync(LIMITS, 'utf8') : '';
  const [, openFiles = Infinity] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return Math.min(MAX_CONNECTIONS, Math.floor(Number(openFiles) / 3));
}

/** @throws Error naming the address. */
export async function listen(app: App, at: Address, timeouts = TIMEOUTS): Promise<Listener> {
  const { host, fd } = at;
  const { fetch, onUnread, onConnection } = app;
  const server = createAdaptorServer({
    fetch,
    serverOptions: {
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.idleMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      requireHostHeader: onUnread === undefined,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
  }) as Server;
  server.maxConnections = maxConnections();
  server.setTimeout(STALLED_MS);
  const connections = keepConnections(server, timeouts.idleMs);
  if (onConnection !== undefined) server.prependListener('connection', onConnection);
  if (onUnread !== undefined) {
    server.on('drop', () => onUnread({ reason: 'no_room', status: 503 }));
    server.on('clientError', (error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket) => {
      const { code = '', rawPacket } = error;
      const start = rawPacket?.toString('latin1') ?? '';
      const { state = 'begun', underWay = 0, isWebhook = false } = connections.get(socket) ?? {};
      // The end of a request under way is reported by its reader.
      const isUnderWay = underWay > 0;
      // Between two requests, a reset cuts nothing off.
      const isIdle = code === 'ECONNRESET' && state === 'known';
      const isLikeAWebhook = isWebhook || LIKE_A_WEBHOOK.test(start);
      const unread = isUnderWay || isIdle ? null : unreadOf({ start, code, isLikeAWebhook });
      if (unread !== null) onUnread(unread);
      if (!socket.writable || isUnderWay) socket.destroy();
      else {
        const { status, phrase } = BROKEN[code] ?? BAD_REQUEST;
        socket.end(`HTTP/1.1 ${status} ${phrase}\r\nConnection: close\r\n\r\n`, () => socket.destroy());
      }
    });
  }
  let isStopping = false;
  server.prependListener('request', ({ headers, socket, url }, response) => {
    // The adaptor builds a URL from it and refuses what it cannot parse.
    if (onUnread !== undefined) headers.host = 'localhost';
    if (isStopping) response.setHeader('Connection', 'close');
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.state = 'known';
    if (url?.startsWith('/webhooks') === true) connection.isWebhook = true;
    connection.underWay += 1;
    response.once('close', () => (connection.underWay -= 1));
  });
  /** Ends our half only: the other side may still send a request, and closes its half once it has read the end. */
  const endIdle = (): void => {
    for (const [socket, { state, underWay }] of connections) {
      if (state !== 'begun' && underWay === 0) socket.end();
    }
  };
  const address = await bind(server, at);
  return {
    host: fd === undefined ? host : address.address,
    port: address.port,
    isQueueFull: () => {
      const fd = descriptorOf(server);
      return fd !== null && isQueueFull(fd);
    },
    async stop(graceMs: number): Promise<void> {
      const closed = once(server, 'close');
      // Not the HTTP server's close, which cuts idle connections at once, with requests on their way.
      NetServer.prototype.close.call(server);
      isStopping = true;
      const ending = setTimeout(endIdle, Math.min(LINGER_MS, graceMs));
      const cut = setTimeout(() => {
        for (const socket of connections.keys()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(ending);
      clearTimeout(cut);
    },
  };
}

interface Connection {
  /**
   * - `silent`: it has sent nothing, and the server does not know it yet.
   * - `begun`: it has sent something, and no headers have been read.
   * - `known`: it has sent at least one request.
   */
  state: 'silent' | 'begun' | 'known';
  /** Requests that are being read or answered. */
  underWay: number;
  /** It has sent at least the start of a webhook: the parser shows only the last piece. */
  isWebhook: boolean;
}

/**
 * Gives the server each connection at its first byte. Proxies open connections ahead of requests, and Node
 * would time the first request from the connection: a webhook sent after `headersTimeout` would be answered
 * 408.
 * @returns the open connections.
 */
function keepConnections(server: Server, idleMs: number): ReadonlyMap<Socket, Connection> {
  const connections = new Map<Socket, Connection>();
  const [serve, ...others] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (serve === undefined || others.length > 0) throw new Error('Node serves connections in another way');
  server.off('connection', serve).on('connection', (socket: Socket) => {
    const connection: Connection = { state: 'silent', underWay: 0, isWebhook: false };
    connections.set(socket, connection);
    const destroy = (): void => void socket.destroy();
    socket.setTimeout(idleMs, destroy).on('error', destroy);
    socket.once('close', () => connections.delete(socket));
    // Also at the end of a connection that sends nothing.
    socket.once('readable', () => {
      connection.state = 'begun';
      socket.setTimeout(0, destroy).off('error', destroy);
      const start = socket.readableLength === 0 ? null : (socket.read() as Buffer | null);
      if (start !== null) {
        connection.isWebhook = LIKE_A_WEBHOOK.test(start.toString('latin1', 0, START_BYTES));
        socket.unshift(start);
      }
      serve.call(server, socket);
    });
  });
  return connections;
}

/** null once the server is closed. */
function descriptorOf(server: Server): number | null {
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd: number } | null };
  return handle?.fd ?? null;
}

const BAD_REQUEST = { status: 400, phrase: 'Bad Request' };
/** Node's own answers to requests that its parser refuses, by the parser's code; all others are 400. */
const BROKEN: Readonly<Record<string, typeof BAD_REQUEST>> = {
  HPE_HEADER_OVERFLOW: { status: 431, phrase: 'Request Header Fields Too Large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, phrase: 'Payload Too Large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, phrase: 'Request Timeout' },
};
const CUT_OFF: ReadonlySet<string> = new Set([
  'ERR_HTTP_REQUEST_TIMEOUT',
  'HPE_INVALID_EOF_STATE',
  'ECONNRESET',
]);
/** Looks like a webhook, whatever is wrong with it. */
const LIKE_A_WEBHOOK = /^POST \/webhooks|\bx-service-signature:/i;

interface Broken {
  /** The piece at which the parser stopped; empty if it gives none. */
  readonly start: string;
  /** The parser's, or the system's. */
  readonly code: string;
  readonly isLikeAWebhook: boolean;
}

function unreadOf({ start, code, isLikeAWebhook }: Broken): Unread | null {
  const protocol = protocolOf(start);
  if (protocol !== null) return { reason: 'wrong_protocol', status: 400, seen: protocol };
  if (!isLikeAWebhook) return null;
  const { status } = BROKEN[code] ?? BAD_REQUEST;
  return { reason: CUT_OFF.has(code) ? 'cut_off' : 'malformed_request', status, seen: code };
}

/** The protocol that a sender used by mistake; null if none of these. */
function protocolOf(start: string): string | null {
  if (start.startsWith('\x16\x03')) return 'TLS';
  if (start.startsWith('PRI * HTTP/2')) return 'HTTP/2';
  return start.startsWith('PROXY ') || start.startsWith('\r\n\r\n\0\r\nQUIT\n') ? 'the PROXY protocol' : null;
}

const UNKNOWN_HOST = 'the host name is not known: correct {}HOST, or set it to an IP address';
/** By the code of the system; {} is the prefix of the variables. */
const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses the port: stop it, or set another {}PORT',
  EADDRNOTAVAIL:
    'this machine has no such address: set {}HOST to one that it has, or to 0.0.0.0 for all of them',
  EAFNOSUPPORT: 'this machine has no addresses of this kind (IPv6 is off): set {}HOST to an IPv4 address',
  EACCES: 'this user may not use the port: set {}PORT to one above 1023, or grant CAP_NET_BIND_SERVICE',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
};

async function bind(server: Server, { host, port, fd, prefix = '' }: Address): Promise<AddressInfo> {
  try {
    // For a descriptor, Node ignores the option `backlog`.
    server.listen(fd === undefined ? { host, port } : { fd }, BACKLOG);
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) return address;
    server.close();
    throw new Error('it is no TCP socket');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const remedy = REMEDIES[code] ?? 'correct {}HOST or {}PORT';
    const [what, words] =
      fd === undefined
        ? [authorityOf({ host, port }), remedy.replaceAll('{}', prefix)]
        : [
            `descriptor ${fd}, which LISTEN_FDS names`,
            'let a socket unit with ListenStream=<address>:<port> start the mirror',
          ];
    throw new Error(`cannot listen on ${what}: ${words}`, { cause });
  }
}
