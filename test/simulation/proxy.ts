/** A proxy in front of the public port, which for a while does to webhooks what a broken one does. */
import type { Transmission, Transmitter } from '../../src/sandbox/network/transmit.ts';
import type { Delivery } from '../../src/sandbox/network/webhooks.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';
import type { ProxyFault } from './way-in-plan.ts';

interface ProxyOptions {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly carrier: Transmitter;
  /** The request is in another protocol. */
  readonly sendOtherProtocol: () => Promise<void>;
  /** The webhook will not arrive as the store sent it. */
  readonly onSpoilt: (delivery: Delivery) => void;
}

export const WEBHOOK_URL = 'http://127.0.0.1:8787/webhooks';
const WRONG_URL = 'http://127.0.0.1:8787/hooks';
const ACK_TIMEOUT_MS = 1_000;
const LONGEST_DELAY_MS = 90_000;

export class Proxy implements Transmitter {
  readonly #options: ProxyOptions;
  #fault: ProxyFault | null = null;
  #delayMs = 0;
  /** Deliveries that it holds back. */
  waiting = 0;

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  begin(fault: ProxyFault): void {
    this.#fault = fault;
    this.#delayMs = 1_000 + this.#options.random() * LONGEST_DELAY_MS;
  }

  end(): void {
    this.#fault = null;
  }

  async transmit(delivery: Delivery, url: string): Promise<Transmission> {
    const { carrier, onSpoilt, sendOtherProtocol } = this.#options;
    const spoilt = (change: Partial<Delivery>): Delivery => {
      onSpoilt(delivery);
      return { ...delivery, items: [], ...change };
    };
    switch (this.#fault) {
      case null:
        return carrier.transmit(delivery, url);
      case 'loses':
        onSpoilt(delivery);
        return { outcome: 'answered', status: 502 };
      case 'alters':
        return carrier.transmit(spoilt({ body: altered(delivery.body) }), url);
      case 'drops_signature': {
        const { 'X-Service-Signature': _, ...headers } = delivery.headers;
        return carrier.transmit(spoilt({ headers }), url);
      }
      case 'wrong_path':
        return carrier.transmit(spoilt({}), WRONG_URL);
      case 'other_protocol':
        onSpoilt(delivery);
        await sendOtherProtocol();
        return { outcome: 'answered', status: 400 };
      case 'delays':
        return this.#delay(delivery, url);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #delay(delivery: Delivery, url: string): Promise<Transmission> {
    const { time, carrier } = this.#options;
    this.waiting += 1;
    time.after(this.#delayMs, WORLD, () => {
      this.waiting -= 1;
      void carrier.transmit(delivery, url);
    });
    return time.sleep(ACK_TIMEOUT_MS).then((): Transmission => ({ outcome: 'timeout' }));
  }
}

/** The same JSON in other bytes, as after a proxy that parses and writes it again. */
function altered(body: Buffer): Buffer {
  const text = body.toString('utf8');
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text), null, 1));
  } catch {
    return Buffer.from(`${text} `);
  }
}
