/** Ports that stay the mirror's own through every restart. */
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which systems give ports to outgoing connections: one of those could be given the mirror's
 * port while it is down, even a connection to that very port.
 */
const RANGE = { min: 20_000, max: 32_000 };
const ATTEMPTS = 50;

/** Not drawn from the seed: two courses of one seed may run side by side. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(RANGE.min, RANGE.max);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found from ${RANGE.min} to ${RANGE.max}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
