import type { Hono } from 'hono';
import type { Access } from './shared/access.ts';
import { AddressBook } from './orders/address-book.ts';
import { addressEndpoints } from './api/address-endpoints.ts';
import { Agenda } from './world/agenda.ts';
import { createApi } from './api/api.ts';
import { Apps } from './network/apps.ts';
import { CallLog } from './shared/calls.ts';
import type { ApiEnv, RequestCounters } from './api/api.ts';
import { fillCatalogue } from './world/catalogue.ts';
import { Clock, systemTimers } from './world/clock.ts';
import type { Timers } from './world/clock.ts';
import { createControl } from './control/control.ts';
import { Courier } from './orders/courier.ts';
import { DeliveryLog } from './network/deliveries.ts';
import type { Deliveries } from './network/deliveries.ts';
import { Factory } from './world/factory.ts';
import { Ids } from './world/ids.ts';
import { listen } from './api/listen.ts';
import { Listing } from './world/listing.ts';
import { Losses } from './network/losses.ts';
import { Network } from './network/network.ts';
import { TokenIssuer } from './api/oauth.ts';
import { createOperations } from './world/operations.ts';
import type { Operations } from './world/operations.ts';
import { OrderBook } from './orders/order-book.ts';
import { OrderDesk } from './orders/order-desk.ts';
import { orderEndpoints } from './api/order-endpoints.ts';
import { refuseForeignHost } from './ui/guard.ts';
import { createPage } from './ui/page.ts';
import { productEndpoints } from './api/product-endpoints.ts';
import { createRandom } from './world/random.ts';
import { Reads } from './network/reads.ts';
import { Replays } from './network/replays.ts';
import { Traffic } from './world/traffic.ts';
import { createTransmitter } from './network/transmit.ts';
import type { Transmitter } from './network/transmit.ts';
import { Truth } from './world/truth.ts';
import { Sealer, sign } from './network/webhooks.ts';

export interface SandboxOptions {
  /** The same seed gives the same catalogue, operations and faults. Default 1. */
  readonly seed?: number;
  /** Default 50. */
  readonly products?: number;
  /** Default 0: any free port. Always on 127.0.0.1. */
  readonly port?: number;
  readonly webhookUrl?: string | null;
  /** The page of the mirror, for links to its rows. Default: no links. */
  readonly mirrorUrl?: string | null;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly webhookSecret?: string;
  readonly tokenLifetimeS?: number;
  readonly clockOffsetMs?: number;
  /** Epoch ms; default `Date.now`. */
  readonly now?: () => number;
  readonly timers?: Timers;
  /** How long a webhook waits for its answer. Default 1000, as documented. */
  readonly ackTimeoutMs?: number;
}

/** The whole simulated store without a socket: `api.fetch` answers. */
export interface SimulatedService {
  readonly api: Hono<ApiEnv>;
  readonly seed: number;
  readonly clientId: string;
  /** The current secret, also after `oauth.replaceSecret`. */
  readonly clientSecret: string;
  /** The webhook secret. Set it to sign later deliveries with a new one. */
  webhookSecret: string;
  /** The same as `network.webhookUrl`. */
  webhookUrl: string | null;
  mirrorUrl: string | null;
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
  readonly oauth: TokenIssuer;
  readonly deliveries: Deliveries;
  readonly losses: Losses;
  /** The requests to the store's API, with their answers. */
  readonly calls: CallLog;
  /** When somebody last had the page shown, which a browser does every second; null: never. Base clock. */
  readonly pageShownAtMs: number | null;
  readonly requests: Readonly<RequestCounters>;
  /** Stops traffic, drops what has not been sent, and releases held reads. */
  readonly stop: () => Promise<void>;
}

export interface Sandbox extends SimulatedService {
  readonly baseUrl: string;
  readonly port: number;
}

/** The defaults for development. */
const defaultCredentials = {
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

  const clock = new Clock({
    now: options.now ?? Date.now,
    random: stream('nodes'),
    offsetMs: options.clockOffsetMs ?? 0,
  });
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

  const sealer = new Sealer({ secret: credentials.webhookSecret, clock, serial: 0 });
  const deliveries = new DeliveryLog();
  const network = new Network({
    seal: (changes) => sealer.seal(changes),
    transmitter,
    log: deliveries,
    clock,
    random: stream('network'),
    timers,
    webhookUrl: options.webhookUrl ?? null,
    clientId: credentials.clientId,
  });
  const issuer = new TokenIssuer({
    clock,
    ...credentials,
    tokenLifetimeS: options.tokenLifetimeS ?? 14_400,
  });
  const apps = new Apps({
    first: { clientId: credentials.clientId, network },
    connect: (serial, clientId, secret) => {
      const ownSealer = new Sealer({ secret, clock, serial });
      return new Network({
        seal: (changes) => ownSealer.seal(changes),
        transmitter,
        log: deliveries,
        clock,
        random: stream(`network ${serial}`),
        timers,
        webhookUrl: null,
        clientId,
      });
    },
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
    publish: (changes) => {
      apps.publish(changes);
    },
  });
  const traffic = new Traffic({ truth, operations, random: stream('traffic'), timers });

  const agenda = new Agenda({ clock, timers });
  const access: Access = { denied: false, quotaExceeded: false };
  // A separate stream of ids, so that an order does not change the ids of later products.
  const recordIds = new Ids(stream('records'));
  const addresses = new AddressBook({ ids: recordIds });
  const courier = new Courier({ agenda, clock, ids: recordIds });
  const book = new OrderBook({ orders: operations.orders });
  const desk = new OrderDesk({ truth, operations, book, addresses, courier, agenda, access, clock });

  const reads = new Reads({ random: stream('reads'), timers });
  const requests: RequestCounters = {};
  const endpoints = [
    ...orderEndpoints({ access, desk, book }),
    ...addressEndpoints({ access, addresses }),
    ...productEndpoints({ truth, listing: new Listing(truth) }),
  ];
  const losses = new Losses({
    ...{ truth, operations, network, deliveries, agenda, clock },
    random: stream('losses'),
  });
  const calls = new CallLog(() => clock.baseNow());
  const replays = new Replays({ deliveries, transmitter, now: () => clock.baseNow() });
  const api = createApi({
    ...{ clock, issuer, reads, endpoints, requests, calls },
    onDetail: (productId, ageMs) => {
      losses.detailAnswered(productId, clock.baseNow() - ageMs);
    },
  });
  api.use('/sandbox/*', refuseForeignHost);
  api.route(
    '/sandbox',
    createControl({
      ...{ access, addresses, agenda, apps, book, clock, courier, desk, issuer },
      ...{ truth, operations, traffic, network, reads, deliveries, losses, calls, replays },
    }),
  );
  const shown = { mirrorUrl: options.mirrorUrl ?? null, atMs: null as number | null };
  api.route(
    '/',
    createPage({
      ...{ access, addresses, book, clock, courier, desk, issuer },
      ...{ truth, operations, traffic, network, reads, deliveries, losses, calls, replays },
      webhookSecret: () => sealer.secret,
      isSignedNow: ({ body, headers }) => headers['X-Service-Signature'] === sign(body, sealer.secret),
      mirrorUrl: () => shown.mirrorUrl,
      onShown: () => {
        shown.atMs = clock.baseNow();
      },
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
    get mirrorUrl() {
      return shown.mirrorUrl;
    },
    set mirrorUrl(url) {
      shown.mirrorUrl = url;
    },
    get pageShownAtMs() {
      return shown.atMs;
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
    losses,
    calls,
    requests,
    stop: async () => {
      traffic.stop();
      agenda.stop();
      reads.stop();
      apps.stop();
      await transmitter.close();
    },
  };
}
