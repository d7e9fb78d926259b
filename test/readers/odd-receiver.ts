/** A receiver of pushed events that answers each level in a way of its own. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { Owner } from '../process/harness.ts';

export interface PushedChange {
  readonly seq: number;
  readonly variant_id: string;
  readonly warehouse_id: string | null;
  readonly reason: string | null;
  readonly order_id: string | null;
  readonly new_qty: number | null;
}

export interface Accepted {
  readonly id: string;
  readonly data: PushedChange;
}

/** null: no answer. */
type Status = 200 | 400 | 422 | 500 | null;

interface Manner {
  readonly status: Status;
  /** Each event is accepted at its second attempt. */
  readonly once: boolean;
}

const STATUSES = [400, 422, 500, null] as const;
const MANNERS: readonly Manner[] = [
  { status: 200, once: false },
  ...STATUSES.map((status): Manner => ({ status, once: true })),
  ...STATUSES.map((status): Manner => ({ status, once: false })),
];

export class OddReceiver {
  readonly accepted: Accepted[] = [];
  readonly counts: Record<string, number> = {};
  readonly forged: string[] = [];
  readonly #tried = new Set<string>();
  readonly #levels = new Map<string, Manner>();
  readonly #webhook: Webhook;
  url = '';

  constructor(secret: string) {
    this.#webhook = new Webhook(secret);
  }

  async start(test: Owner): Promise<this> {
    const server = createServer((request, response) => {
      void text(request)
        .then((body) => this.#take(body, request.headers as Record<string, string>, response))
        // The sender has given up.
        .catch(() => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    test.onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    return this;
  }

  refusesAlways(change: Pick<PushedChange, 'variant_id' | 'warehouse_id'>): boolean {
    const { status, once } = this.#mannerOf(change);
    return status !== 200 && !once;
  }

  #mannerOf({
    variant_id: variant,
    warehouse_id: warehouse,
  }: Pick<PushedChange, 'variant_id' | 'warehouse_id'>) {
    const level = `${variant}:${warehouse ?? ''}`;
    const manner = this.#levels.get(level) ?? MANNERS[this.#levels.size % MANNERS.length];
    if (manner === undefined) throw new Error('no manner');
    this.#levels.set(level, manner);
    return manner;
  }

  #take(body: string, headers: Record<string, string>, response: ServerResponse): void {
    const id = String(headers['webhook-id']);
    let data: PushedChange;
    try {
      ({ data } = this.#webhook.verify(body, headers) as { data: PushedChange });
    } catch (error) {
      this.forged.push(`${id}: ${String(error)}`);
      response.writeHead(400).end();
      return;
    }
    const { status, once } = this.#mannerOf(data);
    const isAccepted = status === 200 || (once && this.#tried.has(id));
    this.#tried.add(id);
    const answer = isAccepted ? 200 : status;
    const name = String(answer ?? 'no answer');
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    if (isAccepted) this.accepted.push({ id, data });
    if (answer !== null) response.writeHead(answer).end();
  }
}
