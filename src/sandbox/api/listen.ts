import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { Hono } from 'hono';
import type { ApiEnv } from './api.ts';

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

/** Loopback only: the sandbox's credentials are public, and its control API is open. */
const HOSTNAME = '127.0.0.1';

/** Listens on the port (0: any free one). Rejects with the platform's error, such as EADDRINUSE. */
export function listen(app: Hono<ApiEnv>, port: number): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: HOSTNAME, port }) as Server;
    server.once('error', reject);
    server.once('listening', () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            server.close(() => {
              closed();
            });
            server.closeAllConnections();
          }),
      });
    });
  });
}
