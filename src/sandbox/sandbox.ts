import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { Hono } from 'hono';
import { createApi } from './api/api.ts';
import type { ApiEnv } from './api/api.ts';
import { endpointsOf } from './api/endpoints.ts';
import { createControl } from './control/control.ts';
import { createTransmitter } from './network/transmit.ts';
import type { Transmitter } from './network/transmit.ts';
import { createStore } from './store.ts';
import type { Store, StoreOptions } from './store.ts';
import { refuseForeignHost } from './ui/guard.ts';
import { createPage } from './ui/page.ts';
import { systemTimers } from './world/clock.ts';

export interface SandboxOptions extends StoreOptions {
  /** Default 0: any free port. Always on 127.0.0.1. */
  readonly port?: number;
  /** How long a webhook waits for its answer. Default 1000, as documented. */
  readonly ackTimeoutMs?: number;
}

/** The whole simulated store without a socket: `api.fetch` answers. */
export type SimulatedService = Store & { readonly api: Hono<ApiEnv> };

export type Sandbox = SimulatedService & { readonly baseUrl: string; readonly port: number };

/** Starts the simulated store on 127.0.0.1. Rejects when the port is in use. */
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

/** @param transmitter sends its webhooks. */
export function createService(options: StoreOptions, transmitter: Transmitter): SimulatedService {
  const store = createStore(options, transmitter);
  const { clock, oauth, reads, requests, calls, losses } = store;
  const api = createApi({
    ...{ clock, oauth, reads, requests, calls },
    endpoints: endpointsOf(store),
    onDetail: (productId, ageMs) => {
      losses.detailAnswered(productId, clock.baseNow() - ageMs);
    },
  });
  api.use('/sandbox/*', refuseForeignHost);
  api.route('/sandbox', createControl(store));
  api.route('/', createPage(store));
  return Object.assign(store, { api });
}

/** Loopback only: the sandbox's credentials are public, and its control API is open. */
function listen({ fetch }: Hono<ApiEnv>, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname: '127.0.0.1', port }) as Server;
    server.once('error', reject);
    server.once('listening', () => {
      resolve(server);
    });
  });
}
