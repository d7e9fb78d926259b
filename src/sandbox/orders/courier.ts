import { shippingTypes } from '../../store-api/contract/order-schemas.ts';
import type { ShippingType } from '../../store-api/contract/order-schemas.ts';
import type { Agenda } from '../world/agenda.ts';
import type { Clock } from '../world/clock.ts';
import type { Ids } from '../world/ids.ts';

/** One entry of an order's `shipments`. */
export interface Shipment {
  readonly id: string;
  readonly shipping_type: ShippingType;
  readonly tracking_number: string;
  readonly create_time: number;
}

interface CourierDeps {
  readonly agenda: Agenda;
  readonly clock: Clock;
  readonly ids: Ids;
}

export class Courier {
  /** The time from ready-to-ship to the tracking number: "moments later". */
  bookingDelayMs = 2_000;
  /** The couriers for which the store has set up booking; with the others, nothing is booked automatically. */
  bookable: ReadonlySet<ShippingType> = new Set(shippingTypes);
  readonly #deps: CourierDeps;
  #issued = 0;

  constructor(deps: CourierDeps) {
    this.#deps = deps;
  }

  /** Requests a tracking number. `onBooked` decides whether the order still needs it. */
  book(shippingType: ShippingType, onBooked: () => void): void {
    if (this.bookable.has(shippingType)) this.#deps.agenda.after(this.bookingDelayMs, onBooked);
  }

  shipment(shippingType: ShippingType, trackingNumber = this.#number()): Shipment {
    return {
      id: this.#deps.ids.next(),
      shipping_type: shippingType,
      tracking_number: trackingNumber,
      create_time: this.#deps.clock.now(),
    };
  }

  #number(): string {
    this.#issued += 1;
    return `TH${String(this.#issued).padStart(10, '0')}`;
  }
}
