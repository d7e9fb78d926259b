/** A proxy in front of the public port that can fail as real ones do. */
import { createServer, request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { Owner } from '../process/harness.ts';

interface Received {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** @returns the status of the mirror's answer. @throws if it gives none. */
export type Forward = (port: number, received: Received) => Promise<number>;

export interface FaultyProxy {
  readonly url: string;
  forward: Forward;
}

const BAD_GATEWAY = 502;

interface Forwarded extends Received {
  readonly path?: string;
}

async function post(port: number, { headers, body, path = '/webhooks' }: Forwarded): Promise<number> {
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? BAD_GATEWAY;
}

/** Each request on a connection of its own, as bytes. */
async function postBytes(port: number, before: string, { headers, body }: Received): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${String(value)}`,
  );
  socket.write(`${before}POST /webhooks HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  socket.end(body);
  const answer = await text(socket);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? BAD_GATEWAY);
}

export const FORWARD = {
  right: post,
  not: () => Promise.resolve(BAD_GATEWAY),
  /** HAProxy's `send-proxy`. */
  withProxyProtocol: (port, received) =>
    postBytes(port, `PROXY TCP4 192.0.2.7 192.0.2.8 40000 ${port}\r\n`, received),
  byTls: async (port) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect').finally(() => socket.destroy());
    return BAD_GATEWAY;
  },
  byHttp2: async (port, { body }) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const failed = once(session, 'error');
    const stream = session.request({ ':method': 'POST', ':path': '/webhooks' }).on('error', () => undefined);
    stream.end(body);
    await Promise.race([failed, once(stream, 'close')]).finally(() => session.destroy());
    return BAD_GATEWAY;
  },
  toAnotherPath: (port, received) => post(port, { ...received, path: '/hook' }),
  withoutSignature: (port, { headers: { 'x-service-signature': _dropped, ...headers }, body }) =>
    post(port, { headers, body }),
  withAnotherBody: (port, { headers, body }) => {
    const changed = Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1));
    return post(port, { headers: { ...headers, 'content-length': changed.byteLength }, body: changed });
  },
} satisfies Record<string, Forward>;

export async function startProxy(test: Owner, targetUrl: string): Promise<FaultyProxy> {
  const port = Number(new URL(targetUrl).port);
  const server = createServer((incoming, response) => {
    void buffer(incoming)
      .then((body) => proxy.forward(port, { headers: incoming.headers, body }))
      .catch(() => BAD_GATEWAY)
      .then((status) => response.writeHead(status).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    forward: FORWARD.right,
  };
  return proxy;
}
