import { setTimeout as wait } from 'node:timers/promises';
import {
  TransportError,
  type Engine,
  type Publication,
  type Published,
} from '../../../src/replication/transport.ts';

/** Until it is acknowledged, as the forwarder does. */
export async function publishSurely(
  engine: Engine,
  publication: Publication,
  withinMs = 60_000,
): Promise<Published> {
  return tryAgain(() => engine.publish(publication), withinMs);
}

/** While it fails as what may be tried again. */
export async function tryAgain<T>(work: () => Promise<T>, withinMs = 60_000): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TransportError) || performance.now() - startMs > withinMs) throw error;
      await wait(100);
    }
  }
}
