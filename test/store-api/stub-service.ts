/** A real HTTP server on loopback with answers set by each test. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface StubRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** @param nth 1 for the first request to this path. */
export type Answering = (response: ServerResponse, request: StubRequest, nth: number) => void;

export interface StubService {
  readonly baseUrl: string;
  readonly requests: readonly StubRequest[];
  /** How many connections were opened. */
  connections(): number;
  to(path: string): StubRequest[];
  /** Replaces the answer of one path. */
  answer(path: string, answering: Answering): void;
  stop(): Promise<void>;
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, error: string, headers = {}): void {
  sendJson(response, status, { error, error_description: `about ${error}` }, headers);
}

export function sendHtml(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end('<html><body><h1>Bad Gateway</h1></body></html>');
}

/** Issues `token-1`, `token-2`, … by default. Stopped when the test ends. */
export async function startStubService(): Promise<StubService> {
  const requests: StubRequest[] = [];
  const to = (path: string) => requests.filter((request) => request.path === path);
  const answers = new Map<string, Answering>([
    [
      '/oauth/token',
      (response, _request, nth) =>
        sendJson(response, 200, { access_token: `token-${nth}`, token_type: 'Bearer', expires_in: 14400 }),
    ],
  ]);

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const path = incoming.url ?? '';
      const request = { path, headers: incoming.headers, body: Buffer.concat(chunks).toString() };
      requests.push(request);
      response.setHeader('X-Request-Id', incoming.headers['x-request-id'] ?? 'none');
      const answering = answers.get(path);
      if (answering === undefined) sendError(response, 404, 'not_found');
      else answering(response, request, to(path).length);
    });
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(stop);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    to,
    answer: (path, answering) => void answers.set(path, answering),
    stop,
  };
}
