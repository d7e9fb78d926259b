import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the system gives to programs that ask for any: those could take one before it is used. */
const FROM = 10_000;
const COUNT = 20_000;

/** Each worker begins elsewhere. */
let last = Math.floor(Math.random() * COUNT);

/** A port of 127.0.0.1 on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    last = (last + 1) % COUNT;
    // Concurrent tests go on counting.
    const port = FROM + last;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
