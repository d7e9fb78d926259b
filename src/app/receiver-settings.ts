/** The receiver's part of the configuration. */
import type { Config } from '../config/config.ts';
import type { ReceiverSettings } from '../receiver/run-receiver.ts';

/** A host with `ROLE=mirror` has no public port: with a stream, its receiver only takes what others publish. */
export function receiverSettings(config: Config): ReceiverSettings {
  const { database, webhook, service, stream, role, retentionDays } = config;
  const [secret, ...previous] = service.webhookSecrets;
  return {
    databasePath: database.path,
    webhook: role === 'mirror' ? null : webhook,
    secrets: [secret.reveal(), ...previous.map((each) => each.reveal())],
    stream:
      stream === null
        ? null
        : { ...stream, password: stream.password?.reveal() ?? null, isConsumed: role !== 'receiver' },
    retentionDays,
  };
}

/** Without a stream, a mirror's inbox is written by a receiver in another process. */
export function runsReceiver({ role, stream }: Pick<Config, 'role' | 'stream'>): boolean {
  return role !== 'mirror' || stream !== null;
}
