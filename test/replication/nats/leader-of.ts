import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Cluster, NatsServer } from './server.ts';

/** @returns the server that leads the stream; undefined: none does at present. */
export async function leaderOf(
  { servers, urls }: Pick<Cluster, 'servers' | 'urls'>,
  stream: string,
): Promise<NatsServer | undefined> {
  const connection = await connect({ servers: [...urls] });
  try {
    const { cluster } = await (await jetstreamManager(connection)).streams.info(stream);
    return servers.find(({ name }) => name === cluster?.leader);
  } finally {
    await connection.close();
  }
}
