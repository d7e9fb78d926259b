/** The client's packages. They are optional: nothing loads them unless an engine is asked for. */
import type * as jetstream from '@nats-io/jetstream';
import type * as kv from '@nats-io/kv';
import type * as obj from '@nats-io/obj';
import type * as transport from '@nats-io/transport-node';

export interface Client {
  readonly transport: typeof transport;
  readonly jetstream: typeof jetstream;
  readonly kv: typeof kv;
  readonly obj: typeof obj;
}

const INSTALL = 'npm install @nats-io/transport-node @nats-io/jetstream @nats-io/kv @nats-io/obj';

/** @throws Error that names the package that is missing, and how all are installed. */
export async function loadClient(): Promise<Client> {
  const [ofTransport, ofJetstream, ofKv, ofObj] = await Promise.all([
    import('@nats-io/transport-node').catch(missing('@nats-io/transport-node')),
    import('@nats-io/jetstream').catch(missing('@nats-io/jetstream')),
    import('@nats-io/kv').catch(missing('@nats-io/kv')),
    import('@nats-io/obj').catch(missing('@nats-io/obj')),
  ]);
  return { transport: ofTransport, jetstream: ofJetstream, kv: ofKv, obj: ofObj };
}

function missing(name: string): (cause: unknown) => never {
  return (cause) => {
    throw new Error(
      `the package ${name}, which the engine at LOG_URL needs, cannot be loaded: install it beside stock-mirror with \`${INSTALL}\``,
      { cause },
    );
  };
}
