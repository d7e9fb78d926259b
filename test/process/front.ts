/** What may stand between the mirror and the service: a proxy that passes requests on, answers by itself, or is gone. */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from './harness.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

export interface Page {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Front {
  /** For SERVICE_BASE_URL. */
  readonly baseUrl: string;
  /** What has arrived here, in order, whatever became of it; `atMs` as `Date.now`. */
  readonly arrivals: readonly { readonly path: string; readonly atMs: number }[];
  /** Answers in the service's place; null leaves it to the service. */
  answer: ((path: string) => Page | null) | null;
  /** Connections are refused from now on. */
  close(): Promise<void>;
  /** On the same port. */
  open(): Promise<void>;
}

export async function startFront(test: Owner, sandbox: Sandbox): Promise<Front> {
  const arrivals: { path: string; atMs: number }[] = [];
  let port = 0;
  let server: Server | null = null;

  const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const path = incoming.url ?? '';
    arrivals.push({ path, atMs: Date.now() });
    const page = front.answer?.(path) ?? null;
    if (page === null) return passOn(sandbox, incoming, outgoing);
    incoming.resume();
    outgoing.writeHead(page.status, { 'content-type': 'text/html', ...page.headers });
    outgoing.end(page.body ?? '');
  };

  const front: Front = {
    get baseUrl() {
      return `http://127.0.0.1:${port}`;
    },
    arrivals,
    answer: null,
    async open() {
      server = createServer(serve).listen(port, '127.0.0.1');
      await once(server, 'listening');
      port = (server.address() as AddressInfo).port;
    },
    async close() {
      if (server === null) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      server = null;
      await closed;
    },
  };
  await front.open();
  test.onTestFinished(() => front.close());
  return front;
}

function passOn(sandbox: Sandbox, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url, headers } = incoming;
  const onward = request(
    { host: '127.0.0.1', port: sandbox.port, method, path: url, headers, agent: false },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    },
  );
  onward.on('error', () => outgoing.destroy());
  incoming.pipe(onward);
}
