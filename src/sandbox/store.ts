/** The simulated store without its interfaces. */
import { TokenIssuer } from './api/oauth.ts';
import { DeliveryLog } from './network/deliveries.ts';
import { Network } from './network/network.ts';
import { Reads } from './network/reads.ts';
import type { Transmitter } from './network/transmit.ts';
import type { Access } from './shared/errors.ts';
import { Clock, systemTimers, type Timers } from './world/clock.ts';
import { Factory, fillCatalogue } from './world/catalogue.ts';
import { Ids } from './world/ids.ts';
import { createOperations } from './world/operations.ts';
import { createOrderDesk } from './world/order-desk.ts';
import { createRandom } from './world/random.ts';
import { createTraffic } from './world/traffic.ts';
import { Truth } from './world/truth.ts';
import { ownAddresses } from './world/wares.ts';

export interface StoreOptions {
  /** The same seed gives the same catalogue, operations and faults. Default 1. */
  readonly seed?: number;
  readonly products?: number;
  readonly webhookUrl?: string | null;
  readonly clientSecret?: string;
  readonly webhookSecret?: string;
  readonly clockOffsetMs?: number;
  readonly now?: () => number;
  readonly timers?: Timers;
}

/** A channel with its credentials and webhook settings ("Events"). */
interface App {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly webhookUrl: string | null;
}

export type Store = ReturnType<typeof createStore>;

export function createStore(options: StoreOptions, transmitter: Transmitter) {
  const { seed = 1, timers = systemTimers } = options;
  const stream = (label: string) => createRandom(seed, label);

  const clock = new Clock({
    now: options.now ?? Date.now,
    timers,
    random: stream('nodes'),
    offsetMs: options.clockOffsetMs ?? 0,
  });
  const access: Access = { accessDenied: false, quotaExceeded: false };

  const ids = new Ids(stream('ids'));
  const truth = new Truth({ clock, ids });
  const factory = new Factory({ random: stream('factory'), ids });
  fillCatalogue({ truth, factory, random: stream('catalogue'), count: options.products ?? 50 });

  const deliveries = new DeliveryLog();
  const oauth = new TokenIssuer(clock);
  const networks = new Map<string, Network>();
  const clientSecret = options.clientSecret ?? 'sandbox-secret';
  const addApp = ({ clientSecret: secret, ...app }: App): Network => {
    const serial = networks.size;
    const random = stream(`network ${serial}`);
    const added = new Network({ transmitter, log: deliveries, clock, random, serial, ...app });
    oauth.addChannel(app.clientId, secret);
    networks.set(app.clientId, added);
    return added;
  };
  const network = addApp({
    clientId: 'sandbox-client',
    clientSecret,
    webhookSecret: options.webhookSecret ?? 'sandbox-webhook-secret',
    webhookUrl: options.webhookUrl ?? null,
  });

  const operations = createOperations({
    truth,
    clock,
    ids,
    factory,
    random: stream('operations'),
    publish: (changes) => {
      for (const each of networks.values()) each.publish(changes);
    },
  });
  const traffic = createTraffic({ truth, operations, random: stream('traffic'), timers });
  // A separate stream, so that orders do not change the ids of later products.
  const recordIds = new Ids(stream('records'));
  /** Primary first, then oldest; the first is the default sender. The oldest is not primary, so that confusing them shows. */
  const addresses = ownAddresses
    .map((address, index) => ({ id: recordIds.next(), ...address, is_primary: index === 1 }))
    .sort((a, b) => Number(b.is_primary) - Number(a.is_primary));
  const orderDesk = createOrderDesk({ truth, operations, addresses, access, clock, ids: recordIds });

  const reads = new Reads({ random: stream('reads'), clock });
  const requests: Record<string, number> = {};

  return {
    clientId: network.clientId,
    clientSecret,
    clock,
    access,
    truth,
    operations,
    traffic,
    addresses,
    orderDesk,
    network,
    networks,
    addApp,
    oauth,
    deliveries,
    reads,
    requests,
    courier: orderDesk.courier,
    get webhookSecret() {
      return network.webhookSecret;
    },
    get webhookUrl() {
      return network.webhookUrl;
    },
    set webhookUrl(url) {
      network.webhookUrl = url;
    },
    stop: async () => {
      traffic.stop();
      clock.stop();
      for (const each of networks.values()) each.stop();
      await transmitter.close();
    },
  };
}
