import { isLoopback, type Config, type Endpoint } from '../config/config.ts';
import { createIntakeApp } from '../intake/app.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { listen, Listener } from '../platform/listen.ts';

const DRAIN_MS = 1_500;

type App = Parameters<typeof listen>[0];

export class Ports {
  readonly #listen: typeof listen;
  readonly #listeners: Listener[] = [];

  constructor(given: typeof listen) {
    this.#listen = given;
  }

  async #open(app: App, endpoint: Endpoint): Promise<Listener> {
    const listener = await this.#listen(app, endpoint);
    this.#listeners.push(listener);
    return listener;
  }

  async listenPublicly(
    { service, webhook }: Pick<Config, 'service' | 'webhook'>,
    monitor: Monitor,
    parts: Omit<Parameters<typeof createIntakeApp>[0], 'secrets' | 'observer'>,
  ): Promise<Listener> {
    const secrets = service.webhookSecrets.map((secret) => secret.reveal());
    const observer = monitor.observer(parts.now);
    return this.#open(createIntakeApp({ ...parts, secrets, observer }), webhook);
  }

  /** The address of an inherited socket is known only now. @throws Error when it is open without a token. */
  async listenPrivately(app: App, ops: Config['ops']): Promise<Listener> {
    const listener = await this.#open(app, ops);
    const { host, port } = listener;
    if (ops.fd === undefined || ops.token !== null || isLoopback(host)) return listener;
    throw new Error(
      `the socket passed as ops listens on ${host}:${port}, which other machines can reach: set OPS_TOKEN, or use a loopback ListenStream`,
    );
  }

  /** @param graceMs how long requests under way may take. */
  async stop(graceMs = DRAIN_MS): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.stop(graceMs)));
  }
}
