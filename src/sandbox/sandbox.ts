import { serve } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi } from './api/api.ts';
import type { ApiEnv } from './api/api.ts';
import { TokenIssuer } from './api/oauth.ts';
import { createControl } from './control/control.ts';
import { DeliveryLog } from './network/deliveries.ts';
import { Losses } from './network/losses.ts';
import { Network } from './network/network.ts';
import { Reads } from './network/reads.ts';
import { createTransmitter } from './network/transmit.ts';
import type { Transmitter } from './network/transmit.ts';
import { CallLog } from './shared/calls.ts';
import type { Access } from './shared/errors.ts';
import { createPage, refuseForeignHost } from './ui/page.ts';
import { AddressBook } from './world/address-book.ts';
import { Clock, systemTimers } from './world/clock.ts';
import type { Timers } from './world/clock.ts';
import { Factory, fillCatalogue } from './world/catalogue.ts';
import { Ids } from './world/ids.ts';
import { createOperations } from './world/operations.ts';
import { createOrderDesk } from './world/order-desk.ts';
import { createRandom } from './world/random.ts';
import { createTraffic } from './world/traffic.ts';
import { Truth } from './world/truth.ts';

export interface SandboxOptions extends StoreOptions {
  /** Default 0: any free port. Always on 127.0.0.1. */
  readonly port?: number;
  /** The time for a receiver's answer. Default 1000, as documented. */
  readonly ackTimeoutMs?: number;
}

/** Without a socket: `api.fetch` answers. */
export type SimulatedService = Store & { readonly api: Hono<ApiEnv> };

export type Sandbox = SimulatedService & { readonly baseUrl: string; readonly port: number };

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { timers = systemTimers, ackTimeoutMs = 1_000 } = options;
  const service = createService(options, createTransmitter({ timers, ackTimeoutMs }));
  const server = await listen(service.api, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  const stopStore = service.stop;
  return Object.assign(service, {
    baseUrl: `http://127.0.0.1:${port}`,
    port,
    stop: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
      server.closeAllConnections();
      await Promise.all([stopStore(), closed]);
    },
  });
}

export function createService(options: StoreOptions, transmitter: Transmitter): SimulatedService {
  const store = createStore(options, transmitter);
  const api = createApi(store);
  api.use('/sandbox/*', refuseForeignHost);
  api.route('/sandbox', createControl(store));
  api.route('/', createPage(store));
  return Object.assign(store, { api });
}

interface StoreOptions {
  /** The same seed gives the same catalogue, operations and faults. Default 1. */
  readonly seed?: number;
  readonly products?: number;
  readonly webhookUrl?: string | null;
  readonly mirrorUrl?: string | null;
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

function createStore(options: StoreOptions, transmitter: Transmitter) {
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
  const addApp = ({ clientSecret, ...app }: App): Network => {
    const serial = networks.size;
    const random = stream(`network ${serial}`);
    const added = new Network({ transmitter, log: deliveries, clock, random, serial, ...app });
    oauth.addChannel(app.clientId, clientSecret);
    networks.set(app.clientId, added);
    return added;
  };
  const network = addApp({
    clientId: 'sandbox-client',
    clientSecret: options.clientSecret ?? 'sandbox-secret',
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
  const addresses = new AddressBook({ ids: recordIds });
  const orderDesk = createOrderDesk({ truth, operations, addresses, access, clock, ids: recordIds });

  const reads = new Reads({ random: stream('reads'), clock });
  const losses = new Losses({
    truth,
    operations,
    network,
    deliveries,
    clock,
    random: stream('losses'),
  });
  const calls = new CallLog(() => clock.baseNow());
  const requests: Record<string, number> = {};

  return {
    clientId: network.clientId,
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
    losses,
    calls,
    requests,
    courier: orderDesk.courier,
    mirrorUrl: options.mirrorUrl ?? null,
    /** The secret in force, also after `oauth.replaceSecret`. */
    get clientSecret() {
      return oauth.clientSecret;
    },
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

/** Loopback only: the credentials are public, and the control API is open. */
function listen({ fetch }: Hono<ApiEnv>, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname: '127.0.0.1', port }) as Server;
    server.once('error', reject);
    server.once('listening', () => {
      resolve(server);
    });
  });
}
