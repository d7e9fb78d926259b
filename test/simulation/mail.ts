/** Carries webhooks as their fates say: lost, late, twice, or with a body that nobody expects. */
import { sign, type Delivery } from '../../src/sandbox/network/webhooks.ts';
import type { Transmission, Transmitter } from '../../src/sandbox/network/transmit.ts';
import { TEST_HEADER } from '../../src/store-api/signature.ts';
import { present } from '../shared/present.ts';
import type { Fate, Mangling } from './plan.ts';
import { WEBHOOK_URL } from './proxy.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';

export const PLAIN: Fate = { lost: false, delayMs: 0, againMs: null, mangling: 'none' };

const FIRST_UNKNOWN = 900_000_000_000;

export class Mail implements Transmitter {
  readonly #time: VirtualTime;
  readonly #carrier: Transmitter;
  readonly #secret: () => string;
  readonly #count: (what: string) => void;
  readonly #fates = new Map<Delivery, Fate>();
  readonly #sent: Delivery[] = [];
  nextFate: Fate = PLAIN;
  waiting = 0;
  #strange = 0;

  constructor(time: VirtualTime, carrier: Transmitter, secret: () => string, count: (what: string) => void) {
    this.#time = time;
    this.#carrier = carrier;
    this.#secret = secret;
    this.#count = count;
  }

  readonly route = (delivery: Delivery): 'send' | 'lose' | { delayMs: number } => {
    const fate = this.nextFate;
    this.#fates.set(delivery, fate);
    if (fate.lost) {
      this.#count('lost delivery');
      return 'lose';
    }
    if (fate.delayMs === 0) return 'send';
    this.#count(fate.delayMs > 60_000 ? 'delivery late by minutes' : 'late delivery');
    return { delayMs: fate.delayMs };
  };

  async transmit(delivery: Delivery, url: string): Promise<Transmission> {
    const fate = this.#fates.get(delivery) ?? PLAIN;
    this.#fates.delete(delivery);
    const sent = this.#mangle(delivery, fate.mangling);
    if (fate.againMs !== null) this.#later(sent, url, fate.againMs);
    this.#sent.push(sent);
    return this.#carrier.transmit(sent, url);
  }

  replay(back: number): void {
    const old = this.#sent.at(-back);
    if (old === undefined) return;
    this.#count('replayed delivery');
    void this.#carrier.transmit(old, WEBHOOK_URL);
  }

  sendUnknownEvent(): void {
    this.#count('unknown event');
    this.#sendStrange({ event_type: 'price_updated', data: { price: '1.00' } });
  }

  /** The store shows these variants nowhere. */
  sendUnknownVariants(count: number): void {
    this.#count('unknown variants');
    const items = Array.from({ length: count }, (_, n) => ({
      id: String(FIRST_UNKNOWN + n),
      old: 5,
      new: 4,
      warehouse_id: '1',
      update_time: this.#time.nowMs,
    }));
    this.#sendStrange({
      event_type: 'stock_available_updated',
      request_time: this.#time.nowMs,
      data: { items },
    });
  }

  /** As `stock-mirror send` does. @param secret of the mirror. */
  sendTest(secret: string): void {
    this.#count('test webhook');
    this.#strange += 1;
    const requestTimeMs = this.#time.nowMs;
    const envelope = {
      event_type: 'stock_available_updated',
      request_time: requestTimeMs,
      data: { items: [] },
    };
    const body = Buffer.from(JSON.stringify({ request_id: `test-${this.#strange}`, ...envelope }));
    const headers = { 'X-Service-Signature': sign(body, secret), [TEST_HEADER]: '1' };
    void this.#carrier.transmit({ requestId: '', requestTimeMs, items: [], body, headers }, WEBHOOK_URL);
  }

  #sendStrange(body: object): void {
    this.#strange += 1;
    const text = JSON.stringify({ request_id: `strange_${this.#strange}`, ...body });
    void this.#carrier.transmit(this.#signed(null, text), WEBHOOK_URL);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #later(delivery: Delivery, url: string, ms: number): void {
    this.waiting += 1;
    this.#time.after(ms, WORLD, () => {
      this.waiting -= 1;
      this.#count('repeated delivery');
      void this.#carrier.transmit(delivery, url);
    });
  }

  #mangle(delivery: Delivery, mangling: Mangling): Delivery {
    if (mangling === 'none') return delivery;
    this.#count(`body: ${mangling}`);
    const text = delivery.body.toString('utf8');
    const body = JSON.parse(text) as {
      request_id: string;
      extra?: unknown;
      data: { items: Record<string, unknown>[] };
    };
    const { items } = body.data;
    switch (mangling) {
      case 'broken_json':
        return this.#signed({ ...delivery, items: [] }, text.slice(0, -7));
      case 'same_request_id':
        body.request_id = this.#sent.at(-1)?.requestId ?? body.request_id;
        break;
      case 'unknown_reason':
        for (const item of items) item['reason'] = 'never_heard_of';
        break;
      case 'extra_fields':
        body.extra = { nested: [1, null] };
        for (const item of items) item['more'] = 'x';
        break;
      case 'broken_item':
        present(items[0])['new'] = 'x';
        return this.#signed({ ...delivery, items: delivery.items.slice(1) }, JSON.stringify(body));
      case 'broken_neighbour':
        items.unshift({ id: 42_000 + this.#sent.length });
        items.push({ ...items[1], id: '', old: Number.MAX_VALUE });
        break;
    }
    return this.#signed(delivery, JSON.stringify(body), body.request_id);
  }

  #signed(delivery: Delivery | null, text: string, requestId = ''): Delivery {
    const body = Buffer.from(text);
    return {
      requestId,
      requestTimeMs: delivery?.requestTimeMs ?? this.#time.nowMs,
      items: delivery?.items ?? [],
      body,
      headers: {
        ...delivery?.headers,
        'Content-Type': 'application/json',
        'X-Service-Signature': sign(body, this.#secret()),
      },
    };
  }
}
