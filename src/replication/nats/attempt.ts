/** Runs one request to the engine, once the connection is up and the streams are there. */
import type { Live } from './connection.ts';
import { transportError } from './failure.ts';
import type { Parts } from './parts.ts';

/** @param what cannot be done, if it cannot, for people. @throws TransportError */
export async function attempt<T>(
  { connection, layout }: Pick<Parts, 'connection' | 'layout'>,
  what: string,
  work: (live: Live) => Promise<T>,
): Promise<T> {
  try {
    const live = await connection.use();
    await layout.ready(live);
    return await work(live);
  } catch (error) {
    layout.recheck(error);
    throw transportError(what, error);
  }
}
