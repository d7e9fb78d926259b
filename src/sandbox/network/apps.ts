import { randomBytes } from 'node:crypto';
import type { Change } from '../world/model.ts';
import type { Network } from './network.ts';

interface AppsDeps {
  readonly first: Network;
  /** Makes the network of the n-th app. */
  readonly connect: (serial: number, clientId: string, webhookSecret: string) => Network;
  readonly addChannel: (clientId: string, clientSecret: string) => void;
}

/** The store's apps: channels, each with its own credentials, webhook settings and webhook secret ("Events"). */
export class Apps {
  readonly #deps: AppsDeps;
  readonly #networks: Map<string, Network>;

  constructor(deps: AppsDeps) {
    this.#deps = deps;
    this.#networks = new Map([[deps.first.clientId, deps.first]]);
  }

  /** Adds another app; its webhook URL is empty until it is set. undefined: the id is in use. */
  add(clientId: string) {
    if (this.#networks.has(clientId)) return undefined;
    const [clientSecret = '', webhookSecret = ''] = [1, 2].map(() => randomBytes(24).toString('base64url'));
    const network = this.#deps.connect(this.#networks.size, clientId, webhookSecret);
    this.#networks.set(clientId, network);
    this.#deps.addChannel(clientId, clientSecret);
    return { clientId, clientSecret, webhookSecret, network };
  }

  /** The network between the store and the app's webhook receiver. */
  networkOf(clientId: string): Network | undefined {
    return this.#networks.get(clientId);
  }

  publish(changes: readonly Change[]): void {
    for (const network of this.#networks.values()) network.publish(changes);
  }

  stop(): void {
    for (const network of this.#networks.values()) network.stop();
  }
}
