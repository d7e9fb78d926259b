import { serve } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi, type ApiEnv } from './api/api.ts';
import { createControl } from './control/control.ts';
import { createTransmitter, type Transmitter } from './network/transmit.ts';
import { createStore, type Store, type StoreOptions } from './store.ts';
import { systemTimers } from './world/clock.ts';

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
  api.route('/sandbox', createControl(store));
  return Object.assign(store, { api });
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
