import type { Access } from '../access.ts';
import type { AddressBook } from '../address-book.ts';
import type { CallLog } from '../calls.ts';
import type { Clock } from '../clock.ts';
import type { Courier } from '../courier.ts';
import type { Deliveries } from '../deliveries.ts';
import type { Losses } from '../losses.ts';
import type { Network } from '../network.ts';
import type { TokenIssuer } from '../oauth.ts';
import type { Operations } from '../operations.ts';
import type { OrderBook } from '../order-book.ts';
import type { OrderDesk } from '../order-desk.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Reads } from '../reads.ts';
import type { Replays } from '../replays.ts';
import type { Traffic } from '../traffic.ts';
import type { Truth } from '../truth.ts';
import type { Delivery } from '../webhooks.ts';

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
  readonly endpoints: readonly Endpoint[];
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
