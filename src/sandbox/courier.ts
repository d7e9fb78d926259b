import { shippingTypes } from '../service/order-schemas.ts';
import type { ShippingType } from '../service/order-schemas.ts';
import type { Agenda } from './agenda.ts';
import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';

/** One entry of an order's `shipments`. */
export type Shipment = {
  readonly id: string;
  readonly shipping_type: ShippingType;
  readonly tracking_number: string;
  readonly create_time: number;
};

export type Courier = {
  /** The time from ready-to-ship to the tracking number: "moments later". */
  bookingDelayMs: number;
  /** The couriers for which the store has set up booking; with the others, nothing is booked automatically. */
  bookable: ReadonlySet<ShippingType>;
  /** Requests a tracking number. `onBooked` decides whether the order still needs it. */
  book(shippingType: ShippingType, onBooked: () => void): void;
  shipment(shippingType: ShippingType, trackingNumber?: string): Shipment;
};

export function createCourier(deps: { agenda: Agenda; clock: Clock; ids: Ids }): Courier {
  const { agenda, clock, ids } = deps;
  let issued = 0;

  const number = (): string => {
    issued += 1;
    return `TH${String(issued).padStart(10, '0')}`;
  };

  const courier: Courier = {
    bookingDelayMs: 2_000,
    bookable: new Set(shippingTypes),
    book: (shippingType, onBooked) => {
      if (courier.bookable.has(shippingType)) agenda.after(courier.bookingDelayMs, onBooked);
    },
    shipment: (shippingType, trackingNumber = number()) => ({
      id: ids.next(),
      shipping_type: shippingType,
      tracking_number: trackingNumber,
      create_time: clock.now(),
    }),
  };
  return courier;
}
