import type { Config } from '../config/config.ts';
import { isLoopback } from '../platform/authority.ts';
import type { listen, Listener } from '../platform/listen.ts';

type App = Parameters<typeof listen>[0];

/** Opens the private listener. @throws Error if it is open to other machines without a token. */
export async function listenPrivately(open: typeof listen, app: App, ops: Config['ops']): Promise<Listener> {
  const listener = await open(app, { ...ops, prefix: 'OPS_' });
  // The address of an inherited socket is known only now.
  const { host, port } = listener;
  if (ops.fd === undefined || ops.token !== null || isLoopback(host)) return listener;
  await listener.stop(0);
  throw new Error(
    `the socket passed as ops listens on ${host}:${port}, which other machines can reach: set OPS_TOKEN, or use a loopback ListenStream`,
  );
}
