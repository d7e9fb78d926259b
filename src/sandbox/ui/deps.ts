import type { Access } from '../shared/access.ts';
import type { AddressBook } from '../orders/address-book.ts';
import type { CallLog } from '../shared/calls.ts';
import type { Clock } from '../world/clock.ts';
import type { Courier } from '../orders/courier.ts';
import type { Deliveries } from '../network/deliveries.ts';
import type { Losses } from '../network/losses.ts';
import type { Network } from '../network/network.ts';
import type { TokenIssuer } from '../api/oauth.ts';
import type { Operations } from '../world/operations.ts';
import type { OrderBook } from '../orders/order-book.ts';
import type { OrderDesk } from '../orders/order-desk.ts';
import type { Reads } from '../network/reads.ts';
import type { Replays } from '../network/replays.ts';
import type { Traffic } from '../world/traffic.ts';
import type { Truth } from '../world/truth.ts';
import type { Delivery } from '../network/webhooks.ts';

/** What the page shows and controls: the same parts as the control API. */
export interface PageDeps {
  readonly access: Access;
  readonly addresses: AddressBook;
  readonly book: OrderBook;
  readonly calls: CallLog;
  readonly clock: Clock;
  readonly courier: Courier;
  readonly deliveries: Deliveries;
  readonly desk: OrderDesk;
  readonly issuer: TokenIssuer;
  readonly losses: Losses;
  /** The page of the mirror; null: no links to it. */
  readonly mirrorUrl: () => string | null;
  readonly network: Network;
  readonly onShown: () => void;
  readonly operations: Operations;
  readonly reads: Reads;
  readonly replays: Replays;
  readonly traffic: Traffic;
  readonly truth: Truth;
  readonly webhookSecret: () => string;
  /** Whether the webhook secret in force signs it so. */
  readonly isSignedNow: (delivery: Delivery) => boolean;
}
