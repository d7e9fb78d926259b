/** A connection to the stream that is tried until it is made. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine } from './engine.ts';

const RECONNECT_MS = 2_000;

export class Connection {
  readonly #stopping = new AbortController();
  readonly #made = Promise.withResolvers<Engine>();
  /** null until a server is reached. */
  engine: Engine | null = null;

  /** @param connect connects once. @param onError called for each try that fails. */
  constructor(connect: () => Promise<Engine>, onError: (error: unknown) => void) {
    void this.#connect(connect, onError);
  }

  /** Resolves once a server is reached. */
  get made(): Promise<Engine> {
    return this.#made.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.engine?.close();
  }

  async #connect(connect: () => Promise<Engine>, onError: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const engine = await connect();
        if (signal.aborted) {
          await engine.close();
          return;
        }
        this.engine = engine;
        this.#made.resolve(engine);
        return;
      } catch (error) {
        if (!signal.aborted) onError(error);
        await wait(RECONNECT_MS, undefined, { ref: false, signal }).catch(() => undefined);
      }
    }
  }
}
