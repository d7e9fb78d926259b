import { ConfigError } from '../config/config.ts';
import { loadNats } from '../stream/nats.ts';

/** @throws ConfigError where the packages are not installed. */
export async function requireNats(): ReturnType<typeof loadNats> {
  try {
    return await loadNats();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const problem = 'needs packages that are not installed';
    const remedy =
      'Run `npm install @nats-io/transport-node@3 @nats-io/jetstream@3`, ' +
      'with `--global` if stock-mirror is installed globally.';
    throw new ConfigError([{ name: 'STREAM_URL', problem, remedy }]);
  }
}
