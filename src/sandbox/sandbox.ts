import type { Hono } from 'hono';
import type { Access } from './access.ts';
import { createAddressBook } from './address-book.ts';
import type { AddressBook } from './address-book.ts';
import { addressEndpoints } from './address-endpoints.ts';
import { createAgenda } from './agenda.ts';
import { createApi } from './api.ts';
import { createApps } from './apps.ts';
import type { Apps } from './apps.ts';
import type { ApiEnv, RequestCounters } from './api.ts';
import { fillCatalogue } from './catalogue.ts';
import { createClock, systemTimers } from './clock.ts';
import type { Clock, Timers } from './clock.ts';
import { createControl } from './control.ts';
import { createCourier } from './courier.ts';
import type { Courier } from './courier.ts';
import { createDeliveryLog } from './deliveries.ts';
import type { Deliveries } from './deliveries.ts';
import { createFactory } from './factory.ts';
import { createIds } from './ids.ts';
import { listen } from './listen.ts';
import { createListing } from './listing.ts';
import { createNetwork } from './network.ts';
import type { Network } from './network.ts';
import { createTokenIssuer } from './oauth.ts';
import type { OAuth } from './oauth.ts';
import { createOperations } from './operations.ts';
import type { Operations } from './operations.ts';
import { createOrderBook } from './order-book.ts';
import { createOrderDesk } from './order-desk.ts';
import type { OrderDesk } from './order-desk.ts';
import { orderEndpoints } from './order-endpoints.ts';
import { refuseForeignHost } from './page/guard.ts';
import { createPage } from './page/page.ts';
import { productEndpoints } from './product-endpoints.ts';
import { createRandom } from './random.ts';
import { createReadPath } from './reads.ts';
import type { Reads } from './reads.ts';
import { createTraffic } from './traffic.ts';
import type { Traffic } from './traffic.ts';
import { createTransmitter } from './transmit.ts';
import type { Transmitter } from './transmit.ts';
import { createTruth } from './truth.ts';
import type { Truth } from './truth.ts';
import { createSealer } from './webhooks.ts';

export type SandboxOptions = {
  /** The same seed gives the same catalogue, operations and faults. Default 1. */
  seed?: number;
  /** Default 50. */
  products?: number;
  /** Default 0: any free port. Always on 127.0.0.1. */
  port?: number;
  webhookUrl?: string | null;
  clientId?: string;
  clientSecret?: string;
  webhookSecret?: string;
  tokenLifetimeS?: number;
  clockOffsetMs?: number;
  /** Epoch ms; default `Date.now`. */
  now?: () => number;
  timers?: Timers;
  /** How long a webhook waits for its answer. Default 1000, as documented. */
  ackTimeoutMs?: number;
};

/** The whole simulated store without a socket: `api.fetch` answers. */
export type SimulatedService = {
  readonly api: Hono<ApiEnv>;
  readonly seed: number;
  readonly clientId: string;
  /** The current secret, also after `oauth.replaceSecret`. */
  readonly clientSecret: string;
  /** The webhook secret. Set it to sign later deliveries with a new one. */
  webhookSecret: string;
  /** The same as `network.webhookUrl`. */
  webhookUrl: string | null;
  readonly clock: Clock;
  /** Moves time ahead at once; what is due by then happens. Delays of the network still take real time. */
  readonly advance: (ms: number) => void;
  readonly access: Access;
  readonly addresses: AddressBook;
  readonly apps: Apps;
  readonly courier: Courier;
  readonly orderDesk: OrderDesk;
  readonly truth: Truth;
  readonly operations: Operations;
  readonly traffic: Traffic;
  readonly network: Network;
  readonly reads: Reads;
  readonly oauth: OAuth;
  readonly deliveries: Deliveries;
  readonly requests: Readonly<RequestCounters>;
  /** Stops traffic, drops what has not been sent, and releases held reads. */
  readonly stop: () => Promise<void>;
};

export type Sandbox = SimulatedService & {
  readonly baseUrl: string;
  readonly port: number;
};

/** The defaults for development. */
export const defaultCredentials = {
  clientId: 'sandbox-client',
  clientSecret: 'sandbox-secret',
  webhookSecret: 'sandbox-webhook-secret',
} as const;

/** Starts the simulated store on 127.0.0.1. Rejects when the port is in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { timers = systemTimers, ackTimeoutMs = 1_000 } = options;
  const service = createService(options, createTransmitter({ timers, ackTimeoutMs }));
  const server = await listen(service.api, options.port ?? 0);
  const stopService = service.stop;
  return Object.assign(service, {
    baseUrl: `http://127.0.0.1:${server.port}`,
    port: server.port,
    stop: async () => {
      await Promise.all([stopService(), server.close()]);
    },
  });
}

/** @param transmitter sends its webhooks. */
export function createService(
  options: Omit<SandboxOptions, 'port' | 'ackTimeoutMs'>,
  transmitter: Transmitter,
): SimulatedService {
  const { seed = 1, timers = systemTimers } = options;
  const credentials = {
    clientId: options.clientId ?? defaultCredentials.clientId,
    clientSecret: options.clientSecret ?? defaultCredentials.clientSecret,
    webhookSecret: options.webhookSecret ?? defaultCredentials.webhookSecret,
  };
  const stream = (label: string) => createRandom(seed, label);

  const clock = createClock({
    now: options.now ?? Date.now,
    random: stream('nodes'),
    offsetMs: options.clockOffsetMs ?? 0,
  });
  const ids = createIds(stream('ids'));
  const truth = createTruth({
    clock,
    storeId: ids.next(),
    priceTierId: ids.next(),
    imageBaseUrl: 'https://images.example.invalid',
    warehouseIds: [ids.next(), ids.next(), ids.next()],
    sellerWarehouseIds: [ids.next(), ids.next()],
  });
  const factory = createFactory({ random: stream('factory'), ids });
  fillCatalogue({ truth, factory, random: stream('catalogue'), count: options.products ?? 50 });

  const sealer = createSealer({ secret: credentials.webhookSecret, clock, serial: 0 });
  const deliveries = createDeliveryLog();
  const network = createNetwork({
    seal: sealer.seal,
    transmitter,
    log: deliveries,
    clock,
    random: stream('network'),
    timers,
    webhookUrl: options.webhookUrl ?? null,
  });
  const issuer = createTokenIssuer({
    clock,
    ...credentials,
    tokenLifetimeS: options.tokenLifetimeS ?? 14_400,
  });
  const apps = createApps({
    first: { clientId: credentials.clientId, network },
    connect: (serial, secret) =>
      createNetwork({
        seal: createSealer({ secret, clock, serial }).seal,
        // Shared; the first app's network closes it.
        transmitter: { ...transmitter, close: () => Promise.resolve() },
        log: deliveries,
        clock,
        random: stream(`network ${serial}`),
        timers,
        webhookUrl: null,
      }),
    addChannel: (clientId, clientSecret) => {
      issuer.addChannel(clientId, clientSecret);
    },
  });
  const operations = createOperations({
    truth,
    clock,
    random: stream('operations'),
    ids,
    factory,
    publish: apps.publish,
  });
  const traffic = createTraffic({ truth, operations, random: stream('traffic'), timers });

  const agenda = createAgenda({ clock, timers });
  const access: Access = { denied: false, quotaExceeded: false };
  // A separate stream of ids, so that an order does not change the ids of later products.
  const recordIds = createIds(stream('records'));
  const addresses = createAddressBook({ ids: recordIds });
  const courier = createCourier({ agenda, clock, ids: recordIds });
  const book = createOrderBook({ orders: operations.orders });
  const desk = createOrderDesk({ truth, operations, book, addresses, courier, agenda, access, clock });

  const reads = createReadPath({ random: stream('reads'), timers });
  const requests: RequestCounters = {};
  const endpoints = [
    ...orderEndpoints({ access, desk, book }),
    ...addressEndpoints({ access, addresses }),
    ...productEndpoints({ truth, listing: createListing(truth) }),
  ];
  const api = createApi({ clock, issuer, reads, endpoints, requests });
  api.use('/sandbox/*', refuseForeignHost);
  api.route(
    '/sandbox',
    createControl({
      ...{ access, addresses, agenda, apps, book, clock, courier, desk, issuer },
      ...{ truth, operations, traffic, network, reads, deliveries },
    }),
  );
  api.route(
    '/',
    createPage({
      ...{ access, addresses, book, clock, courier, desk, issuer },
      ...{ truth, operations, traffic, network, reads, deliveries },
      webhookSecret: () => sealer.secret,
    }),
  );

  return {
    api,
    seed,
    clientId: credentials.clientId,
    get clientSecret() {
      return issuer.clientSecret;
    },
    get webhookSecret() {
      return sealer.secret;
    },
    set webhookSecret(secret) {
      sealer.secret = secret;
    },
    get webhookUrl() {
      return network.webhookUrl;
    },
    set webhookUrl(url) {
      network.webhookUrl = url;
    },
    clock,
    advance: (ms) => {
      agenda.advance(ms);
    },
    access,
    addresses,
    apps,
    courier,
    orderDesk: desk,
    truth,
    operations,
    traffic,
    network,
    reads,
    oauth: issuer,
    deliveries,
    requests,
    stop: async () => {
      traffic.stop();
      agenda.stop();
      reads.stop();
      await apps.stop();
    },
  };
}
