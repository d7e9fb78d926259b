import { createRandom } from './world/random.ts';
import { AddressBook } from './world/address-book.ts';
import { Agenda } from './world/agenda.ts';
import { Apps } from './network/apps.ts';
import { CallLog } from './shared/calls.ts';
import { Clock, systemTimers } from './world/clock.ts';
import type { Timers } from './world/clock.ts';
import { createOperations } from './world/operations.ts';
import { DeliveryLog } from './network/deliveries.ts';
import type { Deliveries } from './network/deliveries.ts';
import { Factory } from './world/factory.ts';
import { fillCatalogue } from './world/catalogue.ts';
import { Ids } from './world/ids.ts';
import { Losses } from './network/losses.ts';
import { Network } from './network/network.ts';
import { OrderDesk } from './world/order-desk.ts';
import { Reads } from './network/reads.ts';
import { TokenIssuer } from './api/oauth.ts';
import { Traffic } from './world/traffic.ts';
import type { Access } from './shared/access.ts';
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

/** The parts of the simulated store, as the API, the control API, the page and tests use them. */
export type Store = ReturnType<typeof createStore>;

/** @param transmitter sends its webhooks. */
export function createStore(options: StoreOptions, transmitter: Transmitter) {
  const { seed = 1, timers = systemTimers, clientId = 'sandbox-client' } = options;
  const stream = (label: string) => createRandom(seed, label);

  const clock = new Clock({
    now: options.now ?? Date.now,
    random: stream('nodes'),
    offsetMs: options.clockOffsetMs ?? 0,
  });
  const agenda = new Agenda({ clock, timers });
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

  const log = new DeliveryLog();
  const deliveries: Deliveries = log;
  const network = new Network({
    ...{ transmitter, log, clock, timers, clientId, serial: 0 },
    random: stream('network'),
    webhookSecret: options.webhookSecret ?? 'sandbox-webhook-secret',
    webhookUrl: options.webhookUrl ?? null,
  });
  const oauth = new TokenIssuer(clock, clientId, options.clientSecret ?? 'sandbox-secret');
  const apps = new Apps({
    first: network,
    connect: (serial, id, webhookSecret) =>
      new Network({
        ...{ transmitter, log, clock, timers, clientId: id, serial, webhookSecret, webhookUrl: null },
        random: stream(`network ${serial}`),
      }),
    addChannel: (id, secret) => {
      oauth.addChannel(id, secret);
    },
  });

  const operations = createOperations({
    ...{ truth, clock, ids, factory },
    random: stream('operations'),
    publish: (changes) => {
      apps.publish(changes);
    },
  });
  const traffic = new Traffic({ truth, operations, random: stream('traffic'), timers });
  // A separate stream of ids, so that an order does not change the ids of later products.
  const recordIds = new Ids(stream('records'));
  const addresses = new AddressBook({ ids: recordIds });
  const orderDesk = new OrderDesk({ truth, operations, addresses, agenda, access, clock, ids: recordIds });

  const reads = new Reads({ random: stream('reads'), timers });
  const losses = new Losses({
    ...{ truth, operations, network, deliveries, agenda, clock },
    random: stream('losses'),
  });
  const calls = new CallLog(() => clock.baseNow());
  const requests: Record<string, number> = {};

  return {
    ...{ seed, clientId, clock, access, truth, operations, traffic, addresses, orderDesk },
    ...{ network, apps, oauth, deliveries, reads, losses, calls, requests },
    courier: orderDesk.courier,
    mirrorUrl: options.mirrorUrl ?? null,
    /** When a browser last loaded the page, which an open page does every second. Base clock. */
    pageShownAtMs: null as number | null,
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
    /** Moves time ahead at once; what is due by then happens. Delays of the network still take real time. */
    advance: (ms: number) => {
      agenda.advance(ms);
    },
    /** Stops traffic, drops what has not been sent, and releases held reads. */
    stop: async () => {
      traffic.stop();
      agenda.stop();
      reads.stop();
      apps.stop();
      await transmitter.close();
    },
  };
}
