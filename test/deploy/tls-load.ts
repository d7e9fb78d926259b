/** Signed webhooks at a steady rate over TLS, sent as the store sends them: once, with a second to answer. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { signBody } from '../../src/store-api/signature.ts';
import { eventually } from '../process/wait.ts';

/** The store waits no longer. */
const ANSWER_WITHIN_MS = 1_000;
const TICK_MS = 10;

interface Sent {
  readonly body: string;
  /** A status, `timeout`, or the code of an error. */
  readonly outcome: string;
}

interface LoadOptions {
  readonly port: number;
  readonly host: string;
  readonly ca: string;
  readonly secret: string;
  readonly perSecond: number;
}

export class TlsLoad {
  answered = 0;
  readonly #options: LoadOptions;
  readonly #agent: Agent;
  readonly #pending: Promise<Sent>[] = [];
  readonly #startedMs = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 128 });
    this.#timer = setInterval(() => {
      const due = ((performance.now() - this.#startedMs) * options.perSecond) / 1_000;
      while (this.#pending.length < due) this.#pending.push(this.#send(this.#pending.length));
    }, TICK_MS);
  }

  untilAnswered(count: number): Promise<unknown> {
    return eventually(() => this.answered >= count, { what: `${count} webhooks are answered 204` });
  }

  async end(): Promise<readonly Sent[]> {
    clearInterval(this.#timer);
    const sent = await Promise.all(this.#pending);
    this.#agent.destroy();
    return sent;
  }

  #send(number: number): Promise<Sent> {
    const { port, host, ca, secret } = this.#options;
    const body = bodyOf(number);
    return new Promise((resolve) => {
      const settle = (outcome: string): void => {
        if (outcome === '204') this.answered += 1;
        resolve({ body, outcome });
      };
      const sending = request({
        agent: this.#agent,
        method: 'POST',
        path: '/webhooks',
        host: '127.0.0.1',
        port,
        servername: host,
        ca,
        headers: {
          host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'service-webhook/1.0',
          'x-service-signature': signBody(secret, Buffer.from(body)),
        },
      });
      const deadline = setTimeout(() => {
        settle('timeout');
        sending.destroy();
      }, ANSWER_WITHIN_MS);
      sending.on('response', (answer) => {
        answer.resume();
        clearTimeout(deadline);
        settle(String(answer.statusCode));
      });
      sending.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(deadline);
        settle(error.code ?? error.message);
      });
      sending.end(body);
    });
  }
}

/** Between 0.5 and 40 kB: one in ten does not fit into the buffer of 16 kB that proxies have by default. */
function bodyOf(number: number): string {
  return JSON.stringify({
    request_id: randomUUID(),
    event_type: 'stock_available_updated',
    request_time: Date.now(),
    data: { items: [] },
    padding: 'x'.repeat(number % 10 === 0 ? 40_000 : 400),
  });
}
