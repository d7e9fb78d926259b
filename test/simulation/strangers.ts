/** Requests of people who know the address, perhaps some ids, and no secret. */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Transmitter } from '../../src/sandbox/network/transmit.ts';
import { sign } from '../../src/sandbox/network/webhooks.ts';
import { present } from '../shared/present.ts';
import type { Unread } from '../../src/platform/listen.ts';
import { WEBHOOK_URL } from './proxy.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';
import type { StrangersDeed } from './way-in-plan.ts';

interface StrangersOptions {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly service: () => SimulatedService;
  readonly carrier: Transmitter;
  readonly sendUnread: (unread: Unread) => Promise<void>;
  readonly count: (what: string) => void;
}

const UNREAD: readonly Unread[] = [
  { reason: 'wrong_protocol', status: 400, seen: 'TLS' },
  { reason: 'malformed_request', status: 400, seen: 'HPE_INVALID_METHOD' },
  { reason: 'cut_off', status: 408, seen: 'ERR_HTTP_REQUEST_TIMEOUT' },
  { reason: 'no_room', status: 503 },
];
const ABSURD = 1_000_000;
const UNKNOWN = 800_000_000_000;
const MOST_ITEMS = 4;

interface Item {
  readonly id: string;
  readonly warehouse_id?: string;
  readonly old?: number;
  readonly new?: number;
  readonly update_time?: number;
}

export class Strangers {
  readonly #options: StrangersOptions;
  #round = 0;
  #sent = 0;

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  begin(deed: StrangersDeed): void {
    this.#round += 1;
    this.#again(deed, this.#round);
  }

  end(): void {
    this.#round += 1;
  }

  #again(deed: StrangersDeed, round: number): void {
    if (round !== this.#round) return;
    this.#send(deed);
    this.#options.time.after(deed.everyMs, WORLD, () => this.#again(deed, round));
  }

  #send(deed: StrangersDeed): void {
    const { carrier, sendUnread, count } = this.#options;
    const who = deed.who === 'all' ? this.#pick(['unsigned', 'wrongly_signed', 'unread'] as const) : deed.who;
    count(`stranger: ${who}`);
    if (who === 'unread') {
      void sendUnread(this.#pick(UNREAD));
      return;
    }
    this.#sent += 1;
    const items = Array.from({ length: this.#below(MOST_ITEMS) + 1 }, () => this.#item(deed));
    const body = Buffer.from(
      JSON.stringify({
        request_id: `stranger_${this.#sent}`,
        event_type: 'stock_available_updated',
        request_time: this.#options.time.nowMs,
        data: { items },
      }),
    );
    const headers = {
      'Content-Type': 'application/json',
      ...(who === 'unsigned' ? {} : { 'X-Service-Signature': sign(body, 'not the secret') }),
    };
    const request = { requestId: '', requestTimeMs: this.#options.time.nowMs, items: [], body, headers };
    void carrier.transmit(request, WEBHOOK_URL);
  }

  #item({ variants, quantities }: StrangersDeed): Item {
    const { truth } = this.#options.service();
    const known = truth.variants.filter(({ levels, deleted }) => levels.length > 0 && !deleted);
    const isKnown = variants === 'known' || (variants === 'both' && this.#below(2) === 0);
    const nowMs = this.#options.time.nowMs;
    if (!isKnown || known.length === 0) {
      const id = String(UNKNOWN + this.#below(10_000));
      return { id, warehouse_id: '1', old: 5, new: 4, update_time: nowMs };
    }
    const variant = this.#pick(known);
    // Ids alone, as a page of the shop shows them.
    if (this.#below(4) === 0) return { id: variant.id };
    const level = this.#pick(variant.levels);
    const shown = level.onHand - level.reserved;
    const qty = quantities === 'absurd' ? ABSURD + this.#below(ABSURD) : shown + this.#pick([0, 0, -1, 1, 2]);
    return { id: variant.id, warehouse_id: level.warehouseId, old: qty + 1, new: qty, update_time: nowMs };
  }

  #pick<T>(items: readonly T[]): T {
    return present(items[this.#below(items.length)]);
  }

  #below(limit: number): number {
    return Math.floor(this.#options.random() * limit);
  }
}
