import { createRandom } from './world/random.ts';
import { AddressBook } from './world/address-book.ts';
import { CallLog } from './shared/calls.ts';
import { Clock, systemTimers } from './world/clock.ts';
import type { Timers } from './world/clock.ts';
import { createOperations } from './world/operations.ts';
import { DeliveryLog } from './network/deliveries.ts';
import { Factory } from './world/factory.ts';
import { fillCatalogue } from './world/catalogue.ts';
import { Ids } from './world/ids.ts';
import { Losses } from './network/losses.ts';
import { Network } from './network/network.ts';
import { OrderDesk } from './world/order-desk.ts';
import { Reads } from './network/reads.ts';
import { TokenIssuer } from './api/oauth.ts';
import { Traffic } from './world/traffic.ts';
import type { Access } from './shared/errors.ts';
import type { Transmitter } from './network/transmit.ts';
import { Truth } from './world/truth.ts';

export interface StoreOptions {
  /** The same seed gives the same catalogue, operations and faults. Default 1. */
  readonly seed?: number;
  /** Default 50. */
  readonly products?: number;
  readonly webhookUrl?: string | null;
  /** The address of the mirror's page, for links to its rows. Default: no links. */
  readonly mirrorUrl?: string | null;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly webhookSecret?: string;
  readonly clockOffsetMs?: number;
  /** Epoch ms; default `Date.now`. */
  readonly now?: () => number;
  readonly timers?: Timers;
}

/** One of the store's apps: a channel with its own credentials, webhook settings and webhook secret ("Events"). */
interface App {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  /** null or empty until it is set. */
  readonly webhookUrl: string | null;
}

/** The parts of the simulated store, as the API, the control API, the page and tests use them. */
export type Store = ReturnType<typeof createStore>;

/** @param transmitter sends its webhooks. */
export function createStore(options: StoreOptions, transmitter: Transmitter) {
  const { seed = 1, timers = systemTimers, clientId = 'sandbox-client' } = options;
  const stream = (label: string) => createRandom(seed, label);

  const clock = new Clock({
    now: options.now ?? Date.now,
    timers,
    random: stream('nodes'),
    offsetMs: options.clockOffsetMs ?? 0,
  });
  const access: Access = { accessDenied: false, quotaExceeded: false };

  const ids = new Ids(stream('ids'));
  const truth = new Truth({
    clock,
    storeId: ids.next(),
    priceTierId: ids.next(),
    imageBaseUrl: 'https://images.example.invalid',
    warehouseIds: [ids.next(), ids.next(), ids.next()],
    sellerWarehouseIds: [ids.next(), ids.next()],
  });
  const factory = new Factory({ random: stream('factory'), ids });
  fillCatalogue({ truth, factory, random: stream('catalogue'), count: options.products ?? 50 });

  const deliveries = new DeliveryLog();
  const oauth = new TokenIssuer(clock);
  const networks = new Map<string, Network>();
  const addApp = ({ clientSecret, ...app }: App): Network => {
    const serial = networks.size;
    const random = stream(`network ${serial}`);
    const added = new Network({ transmitter, log: deliveries, clock, random, serial, ...app });
    oauth.addChannel(app.clientId, clientSecret);
    networks.set(app.clientId, added);
    return added;
  };
  const network = addApp({
    clientId,
    clientSecret: options.clientSecret ?? 'sandbox-secret',
    webhookSecret: options.webhookSecret ?? 'sandbox-webhook-secret',
    webhookUrl: options.webhookUrl ?? null,
  });

  const operations = createOperations({
    ...{ truth, clock, ids, factory },
    random: stream('operations'),
    publish: (changes) => {
      for (const each of networks.values()) each.publish(changes);
    },
  });
  const traffic = new Traffic({ truth, operations, random: stream('traffic'), timers });
  // A separate stream of ids, so that an order does not change the ids of later products.
  const recordIds = new Ids(stream('records'));
  const addresses = new AddressBook({ ids: recordIds });
  const orderDesk = new OrderDesk({ truth, operations, addresses, access, clock, ids: recordIds });

  const reads = new Reads({ random: stream('reads'), clock });
  const losses = new Losses({
    ...{ truth, operations, network, deliveries, clock },
    random: stream('losses'),
  });
  const calls = new CallLog(() => clock.baseNow());
  const requests: Record<string, number> = {};

  return {
    ...{ seed, clientId, clock, access, truth, operations, traffic, addresses, orderDesk },
    ...{ network, networks, addApp, oauth, deliveries, reads, losses, calls, requests },
    courier: orderDesk.courier,
    mirrorUrl: options.mirrorUrl ?? null,
    /** The secret in force, also after `oauth.replaceSecret`. */
    get clientSecret() {
      return oauth.clientSecret;
    },
    get webhookSecret() {
      return network.webhookSecret;
    },
    set webhookSecret(secret) {
      network.webhookSecret = secret;
    },
    get webhookUrl() {
      return network.webhookUrl;
    },
    set webhookUrl(url) {
      network.webhookUrl = url;
    },
    /** Stops traffic, and drops what has not been sent. */
    stop: async () => {
      traffic.stop();
      clock.stop();
      for (const each of networks.values()) each.stop();
      await transmitter.close();
    },
  };
}
