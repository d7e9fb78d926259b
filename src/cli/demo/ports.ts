/** The demo's addresses: always the same ones, so that they can be written down, unless another program has them. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Those of `stock-mirror sandbox` and `serve`. */
export const USUAL = { store: 8790, webhooks: 8787, mirror: 8788 } as const;

/** @returns the port, or 0 (any free one) when another program listens there. */
export async function freeOrAny(port: number): Promise<number> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return port;
  } catch (error) {
    if (isInUse(error)) return 0;
    throw error;
  } finally {
    server.close();
  }
}

export function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
