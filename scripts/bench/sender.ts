/**
 * Sends prepared requests over kept connections, one at a time on each, with as little work of its own as can be: an
 * HTTP client would cost as much as the server that is measured.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { present } from '../../test/shared/present.ts';

interface Sent {
  readonly tookMs: number;
  /** From when each was due, not from when a connection was free for it. Those answered 204. */
  readonly answerMs: number[];
  /** When each was due, by this process's `performance.now()`. */
  readonly dueAtMs: Float64Array;
  /** How many were answered 503: not stored. */
  readonly refused: number;
}

interface Load {
  readonly url: string;
  readonly connections: number;
  readonly requests: readonly Buffer[];
  /** Null: each connection sends its next when its last is answered. */
  readonly perSecond: number | null;
  /** Called just before a request goes out. */
  readonly onSend: (index: number) => void;
}

const NO_CONTENT = 'HTTP/1.1 204';
const END_OF_HEADERS = '\r\n\r\n';

/** @throws Error when a connection fails, the server closes one, or an answer is neither 204 nor 503. */
export async function send(load: Load): Promise<Sent> {
  const { requests, perSecond } = load;
  const { hostname, port } = new URL(load.url);
  const sockets = await Promise.all(
    Array.from({ length: load.connections }, () => connected(hostname, Number(port))),
  );
  const answerMs: number[] = [];
  let refused = 0;
  const done = Promise.withResolvers<undefined>();
  const idle: Connection[] = [];
  let due = 0;
  let next = 0;
  let answered = 0;
  const dueAtMs = new Float64Array(requests.length);
  const sendNext = (connection: Connection): void => {
    if (next >= due) {
      idle.push(connection);
      return;
    }
    load.onSend(next);
    connection.send(present(requests[next]), present(dueAtMs[next]));
    next += 1;
  };
  const connections = sockets.map(
    (socket) =>
      new Connection(socket, {
        onAnswer(connection, sinceMs, status) {
          if (status === '204') answerMs.push(performance.now() - sinceMs);
          else if (status === '503') refused += 1;
          else done.reject(new Error(`a delivery was answered ${status}`));
          answered += 1;
          if (answered === requests.length) done.resolve(undefined);
          else {
            if (perSecond === null && due < requests.length) dueAtMs[due++] = performance.now();
            sendNext(connection);
          }
        },
        onFailure: (error) => done.reject(error),
      }),
  );
  const startedMs = performance.now();
  if (perSecond === null) {
    due = Math.min(connections.length, requests.length);
    dueAtMs.fill(startedMs, 0, due);
    connections.forEach(sendNext);
  } else {
    idle.push(...connections);
    const tick = (): void => {
      const nowMs = performance.now();
      const until = Math.min(requests.length, Math.floor(((nowMs - startedMs) * perSecond) / 1_000));
      while (due < until) dueAtMs[due++] = nowMs;
      // The longest idle first: a server closes connections that never have a request.
      while (next < due && idle.length > 0) sendNext(present(idle.shift()));
      if (due < requests.length) setTimeout(tick, 1);
    };
    tick();
  }
  try {
    await done.promise;
    return { tookMs: performance.now() - startedMs, answerMs, dueAtMs, refused };
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function connected(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

interface Events {
  readonly onAnswer: (connection: Connection, sinceMs: number, status: string) => void;
  readonly onFailure: (error: Error) => void;
}

class Connection {
  readonly #socket: Socket;
  readonly #events: Events;
  #sinceMs = 0;
  #head = '';

  constructor(socket: Socket, events: Events) {
    this.#socket = socket;
    this.#events = events;
    socket.on('error', events.onFailure);
    socket.on('close', () => events.onFailure(new Error('the server closed a connection')));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  send(request: Buffer, sinceMs: number): void {
    this.#sinceMs = sinceMs;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket
      .removeAllListeners()
      .on('error', () => undefined)
      .destroy();
  }

  /** A 204 ends with its headers. Others are counted at theirs; their bodies are short, and come with them. */
  #take(chunk: Buffer): void {
    this.#head += chunk.toString('latin1');
    if (!this.#head.includes(END_OF_HEADERS)) return;
    const status = this.#head.startsWith(NO_CONTENT) ? '204' : this.#head.slice(9, 12);
    this.#head = '';
    this.#events.onAnswer(this, this.#sinceMs, status);
  }
}
