/**
 * A load balancer in front of the receivers, as one is in front of real ones: it knows by `/healthz` who takes requests,
 * and offers a request that was not answered to the next one, which is safe since a body that came twice counts once.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

interface Target {
  readonly port: number;
  readonly pool: Pool;
  isUp: boolean;
}

/** A receiver that stands still holds its connections: another one is asked after this long. */
const TRY_MS = 300;
const CHECK_EVERY_MS = 100;
const CHECK_WITHIN_MS = 500;

export class Balancer {
  readonly #server: Server;
  readonly #targets: readonly Target[];
  readonly #checks: NodeJS.Timeout;
  #next = 0;
  /** Offered to another receiver. */
  repeated = 0;

  private constructor(ports: readonly number[]) {
    this.#targets = ports.map((port) => ({
      port,
      pool: new Pool(`http://127.0.0.1:${port}`, { connections: 128 }),
      isUp: false,
    }));
    this.#server = createServer((incoming, answer) => void this.#pass(incoming, answer));
    this.#checks = setInterval(
      () => this.#targets.forEach((target) => void this.#check(target)),
      CHECK_EVERY_MS,
    );
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks`;
  }

  async stop(): Promise<void> {
    clearInterval(this.#checks);
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await Promise.all(this.#targets.map(({ pool }) => pool.destroy()));
  }

  async #pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const first = this.#next++;
    const order = this.#targets.map((_, i) => this.#targets[(first + i) % this.#targets.length]);
    const candidates = order
      .filter((target) => target !== undefined)
      .toSorted((a, b) => Number(b.isUp) - Number(a.isUp));
    for (const [i, target] of candidates.entries()) {
      if (i > 0) this.repeated += 1;
      const status = await this.#ask(target, incoming, body);
      if (status === null) {
        target.isUp = false;
        continue;
      }
      answer.writeHead(status).end();
      return;
    }
    answer.writeHead(502).end();
  }

  /** @returns null when it does not answer. */
  async #ask({ pool }: Target, { headers }: IncomingMessage, body: Buffer): Promise<number | null> {
    try {
      const answer = await pool.request({
        path: '/webhooks',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service-signature': String(headers['x-service-signature']),
        },
        body,
        signal: AbortSignal.timeout(TRY_MS),
      });
      await answer.body.dump();
      return answer.statusCode;
    } catch {
      return null;
    }
  }

  async #check(target: Target): Promise<void> {
    target.isUp = await fetch(`http://127.0.0.1:${target.port}/healthz`, {
      signal: AbortSignal.timeout(CHECK_WITHIN_MS),
    }).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok;
      },
      () => false,
    );
  }
}
