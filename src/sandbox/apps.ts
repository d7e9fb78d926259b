import { randomBytes } from 'node:crypto';
import type { Publish } from './model.ts';
import type { Network } from './network.ts';

/** One app of the store: a channel with its own credentials, webhook settings and webhook secret ("Events"). */
export type App = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly network: Network;
};

export type Apps = {
  /** Adds another app; its webhook URL is empty until it is set. Undefined for an id in use. */
  add(clientId: string): App | undefined;
  /** The network between the store and the app's webhook receiver. */
  networkOf(clientId: string): Network | undefined;
  /** Sends every app the changes that it subscribes to. */
  readonly publish: Publish;
  stop(): Promise<void>;
};

/** @param deps.connect makes the network of the n-th app. */
export function createApps(deps: {
  first: { readonly clientId: string; readonly network: Network };
  connect: (serial: number, webhookSecret: string) => Network;
  addChannel: (clientId: string, clientSecret: string) => void;
}): Apps {
  const { first, connect, addChannel } = deps;
  const networks = new Map([[first.clientId, first.network]]);
  const secret = () => randomBytes(24).toString('base64url');

  return {
    add: (clientId) => {
      if (networks.has(clientId)) return undefined;
      const [clientSecret, webhookSecret] = [secret(), secret()];
      const network = connect(networks.size, webhookSecret);
      networks.set(clientId, network);
      addChannel(clientId, clientSecret);
      return { clientId, clientSecret, webhookSecret, network };
    },
    networkOf: (clientId) => networks.get(clientId),
    publish: (changes) => {
      for (const network of networks.values()) network.publish(changes);
    },
    stop: async () => {
      await Promise.all([...networks.values()].map((network) => network.stop()));
    },
  };
}
