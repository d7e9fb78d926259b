/** Webhooks sent again, byte for byte, to any address: by hand, and outside the simulated network. */
import type { Deliveries } from './deliveries.ts';
import { dropOldest } from '../world/drop-oldest.ts';
import { ApiError } from '../shared/errors.ts';
import type { Transmission, Transmitter } from './transmit.ts';
import type { Delivery } from './webhooks.ts';

export interface Replay {
  readonly atMs: number;
  readonly url: string;
  readonly transmission: Transmission;
  readonly ms: number;
}

interface ReplaysDeps {
  readonly deliveries: Deliveries;
  readonly transmitter: Transmitter;
  readonly now: () => number;
}

const KEPT = 100;

export class Replays {
  readonly #deps: ReplaysDeps;
  readonly #byRequest = new Map<string, Replay[]>();

  constructor(deps: ReplaysDeps) {
    this.#deps = deps;
  }

  /** Latest first. */
  of(requestId: string): readonly Replay[] {
    return this.#byRequest.get(requestId)?.toReversed() ?? [];
  }

  /** Throws ApiError 404 for a webhook that is not kept any more. */
  delivery(requestId: string): Delivery {
    const { records } = this.#deps.deliveries;
    const found = records.findLast(({ delivery }) => delivery.requestId === requestId);
    if (found === undefined)
      throw new ApiError(404, 'not_found', `request_id: no webhook ${requestId} is kept`);
    return found.delivery;
  }

  async send(requestId: string, url: string): Promise<Replay> {
    const { transmitter, now } = this.#deps;
    const delivery = this.delivery(requestId);
    const atMs = now();
    const transmission = await transmitter.transmit(delivery, url);
    const replay = { atMs, url, transmission, ms: now() - atMs };
    if (this.#byRequest.size >= KEPT) dropOldest(this.#byRequest);
    this.#byRequest.set(requestId, [...(this.#byRequest.get(requestId) ?? []).slice(-9), replay]);
    return replay;
  }
}
