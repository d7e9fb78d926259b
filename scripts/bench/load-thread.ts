/**
 * Signs deliveries ahead of time and sends them over persistent connections, one request at a time on each. It writes
 * to sockets, because an HTTP client would take as much processor as the measured server.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { signBody } from '../../src/store-api/signature.ts';
import { keysOf, type Quantities } from './catalogue.ts';

export interface Prepare {
  readonly type: 'prepare';
  readonly count: number;
  readonly secret: string;
  /** Epoch ms; update times are spread evenly over this span. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Send {
  readonly type: 'send';
  readonly url: string;
  readonly connections: number;
  /** `by update time`: each is due at its update time. */
  readonly pace: 'as answered' | 'by update time';
  /** Whether each delivery changes the store's quantities. False for the baseline. */
  readonly changesStore: boolean;
}

export interface Sent {
  readonly tookMs: number;
  /** From the due time of each delivery to its 204. */
  readonly answerMs: Float64Array;
  readonly refused: number;
}

interface Prepared {
  readonly request: Buffer;
  readonly dueAtMs: number;
  /** Pairs of level and quantity. */
  readonly sets: readonly number[];
}

/** Coprime to every number of levels in use, so that a level repeats only after all others. */
const STEP = 1_000_003;
const END_OF_HEADERS = '\r\n\r\n';

const store = workerData as Quantities;
const sentQuantities = Int32Array.from(store);
let prepared: Prepared[] = [];
let cursor = 0;
let serial = 0;

function prepare({ count, secret, fromMs, toMs }: Prepare): { readonly changes: number } {
  let changes = 0;
  prepared = Array.from({ length: count }, (_, i) => {
    const dueAtMs = fromMs + ((toMs - fromMs) * i) / count;
    const sets: number[] = [];
    const items = Array.from({ length: 1 + (i % 3) }, () => {
      const level = (cursor++ * STEP) % store.length;
      const old = sentQuantities[level] ?? 0;
      const next = old > 0 && i % 2 === 0 ? old - 1 : old + 1;
      sentQuantities[level] = next;
      sets.push(level, next);
      changes += 1;
      return {
        ...keysOf(level),
        old,
        new: next,
        update_time: Math.floor(dueAtMs),
        reason: 'order_reserved',
        order_id: String(700_000_000 + i),
      };
    });
    const body = JSON.stringify({
      request_id: `bench-${process.pid}-${store.length}-${serial++}`,
      event_type: 'stock_available_updated',
      request_time: Math.floor(dueAtMs),
      data: { items },
    });
    return { request: requestOf(body, secret), dueAtMs, sets };
  });
  return { changes };
}

function requestOf(body: string, secret: string): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(
      'POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n' +
        `X-Service-Signature: ${signBody(secret, bytes)}\r\nContent-Length: ${bytes.byteLength}\r\n\r\n`,
    ),
    bytes,
  ]);
}

async function send({ url, connections, pace, changesStore }: Send): Promise<Sent> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );
  const done = Promise.withResolvers<undefined>();
  const answerMs = new Float64Array(prepared.length);
  const sinceMs = new Map<Socket, number>();
  const idle = [...sockets];
  let next = 0;
  let answered = 0;
  let refused = 0;
  const nowMs = (): number => performance.timeOrigin + performance.now();
  const isDue = (): boolean => {
    const delivery = prepared[next];
    return delivery !== undefined && (pace === 'as answered' || delivery.dueAtMs <= nowMs());
  };
  const sendNext = (socket: Socket): void => {
    const delivery = prepared[next++];
    if (delivery === undefined) return;
    if (changesStore) {
      for (let i = 0; i < delivery.sets.length; i += 2)
        store[delivery.sets[i] ?? 0] = delivery.sets[i + 1] ?? 0;
    }
    sinceMs.set(socket, pace === 'as answered' ? nowMs() : delivery.dueAtMs);
    socket.write(delivery.request);
  };
  const take = (socket: Socket, status: string): void => {
    if (status === '503') refused += 1;
    else if (status !== '204') return done.reject(new Error(`a delivery was answered ${status}`));
    answerMs[answered++] = nowMs() - (sinceMs.get(socket) ?? 0);
    if (answered === prepared.length) done.resolve(undefined);
    else if (isDue()) sendNext(socket);
    else idle.push(socket);
  };
  for (const socket of sockets) {
    let head = '';
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      // A 204 has no body. The short body of a 503 arrives with its headers.
      if (!head.includes(END_OF_HEADERS)) return;
      const status = head.slice(9, 12);
      head = '';
      take(socket, status);
    });
    socket.on('error', done.reject);
    socket.on('close', () => done.reject(new Error('the server closed a connection')));
  }
  const startedMs = performance.now();
  const tick = (): void => {
    while (idle.length > 0 && isDue()) sendNext(idle.shift() as Socket);
    if (next < prepared.length && pace === 'by update time') setTimeout(tick, 1);
  };
  tick();
  try {
    await done.promise;
    return { tookMs: performance.now() - startedMs, answerMs, refused };
  } finally {
    for (const socket of sockets) {
      socket.removeAllListeners();
      socket.on('error', () => undefined).destroy();
    }
  }
}

parentPort?.on('message', (order: Prepare | Send) => {
  void (async () => {
    try {
      parentPort?.postMessage({ value: order.type === 'prepare' ? prepare(order) : await send(order) });
    } catch (error) {
      parentPort?.postMessage({ error });
    }
  })();
});
