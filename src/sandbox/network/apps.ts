import { randomBytes } from 'node:crypto';
import type { Change } from '../world/model.ts';
import type { Network } from './network.ts';

/** One app of the store: a channel with its own credentials, webhook settings and webhook secret ("Events"). */
interface App {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly network: Network;
}

interface AppsDeps {
  readonly first: { readonly clientId: string; readonly network: Network };
  /** Makes the network of the n-th app. */
  readonly connect: (serial: number, clientId: string, webhookSecret: string) => Network;
  readonly addChannel: (clientId: string, clientSecret: string) => void;
}

export class Apps {
  readonly #deps: AppsDeps;
  readonly #networks: Map<string, Network>;

  constructor(deps: AppsDeps) {
    this.#deps = deps;
    this.#networks = new Map([[deps.first.clientId, deps.first.network]]);
  }

  /** Adds another app; its webhook URL is empty until it is set. Undefined for an id in use. */
  add(clientId: string): App | undefined {
    const { connect, addChannel } = this.#deps;
    if (this.#networks.has(clientId)) return undefined;
    const [clientSecret, webhookSecret] = [newSecret(), newSecret()];
    const network = connect(this.#networks.size, clientId, webhookSecret);
    this.#networks.set(clientId, network);
    addChannel(clientId, clientSecret);
    return { clientId, clientSecret, webhookSecret, network };
  }

  /** The network between the store and the app's webhook receiver. */
  networkOf(clientId: string): Network | undefined {
    return this.#networks.get(clientId);
  }

  /** Sends every app the changes that it subscribes to. */
  publish(changes: readonly Change[]): void {
    for (const network of this.#networks.values()) network.publish(changes);
  }

  stop(): void {
    for (const network of this.#networks.values()) network.stop();
  }
}

function newSecret(): string {
  return randomBytes(24).toString('base64url');
}
