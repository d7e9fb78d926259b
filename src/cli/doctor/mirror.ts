import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { inboxPath } from '../../inbox/inbox-file.ts';
import { CAUSES } from '../../ops/state/causes.ts';
import { ago } from '../../platform/amounts.ts';
import { commandsOf, withOwnCommands } from '../../platform/own-command.ts';
import { fetchDirectly } from '../../platform/proxy.ts';
import { messageOf } from '../../platform/thrown.ts';
import { isThere } from '../../sqlite/is-there.ts';
import { isDatabaseLocked } from '../../sqlite/lock.ts';
import { TEST_HEADER } from '../../store-api/signature.ts';
import { urlOf } from '../shared/listener-url.ts';
import { statusOfOwn } from '../shared/ops-client.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const TIMEOUT_MS = 5_000;

const acceptedSchema = z.object({ last_accepted_at: z.number().nullable() });

/** The process of this role: a receiver may run without a mirror. */
export async function checkProcess(config: Config): Promise<Finding[]> {
  const { ops, database, role } = config;
  const commandOf = commandsOf(config.command);
  const [file, cause] =
    role === 'receiver'
      ? ([inboxPath(database.path), 'no_receiver'] as const)
      : ([database.path, 'stopped'] as const);
  const url = urlOf(ops);
  const isHeld = isDatabaseLocked(file);
  if (url === null && isHeld) {
    return [warn('OPS_PORT is 0: each start takes another port', 'set a fixed OPS_PORT')];
  }
  // Without the lock, too: a mirror that cannot use its file does not hold it.
  const status = url === null ? null : await statusOfOwn(config).catch(nullUnless(isHeld));
  if (status === null && !isHeld) {
    const { message, remedy } = CAUSES[cause];
    return [(isThere(file) ? fail : warn)(message, withOwnCommands(remedy, commandOf))];
  }
  if (status === null) {
    const message = `a ${nameOf(config)} runs, but not at ${url}`;
    return [fail(message, 'set OPS_HOST and OPS_PORT to its values')];
  }
  const { state, causes } = status;
  const accepted = lastAccepted(status);
  if (causes.length === 0) return [ok(`${url}: ${state}`), ...accepted];
  const found = causes.map(({ code, severity, message, remedy }) =>
    (severity === 'critical' ? fail : warn)(`${code}: ${message}`, withOwnCommands(remedy, commandOf)),
  );
  return [...found, ...accepted];
}

/** Another program at OPS_PORT says nothing about a mirror that does not run. */
const nullUnless =
  (isHeld: boolean) =>
  (error: unknown): null => {
    if (isHeld) throw error;
    return null;
  };

function nameOf({ role }: Config): string {
  return role === 'receiver' ? 'receiver' : 'mirror';
}

/** The cause `unproven` says what to do if there was none. */
function lastAccepted(status: object): Finding[] {
  const { success, data } = acceptedSchema.safeParse(status);
  return success ? [ok(`last webhook accepted from the store: ${ago(data.last_accepted_at)}`)] : [];
}

export async function checkWebhookListener(config: Config): Promise<Finding[]> {
  const { webhook, database } = config;
  const name = nameOf(config);
  if (!isDatabaseLocked(inboxPath(database.path))) return [];
  const url = urlOf(webhook, '/healthz');
  if (url === null) return [warn('PORT is 0: each start takes another port', 'set a fixed PORT')];
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetchDirectly(url, {
      redirect: 'manual',
      headers: { [TEST_HEADER]: '1' },
      signal,
    });
    if (answer.status === 200) return [ok(`${url} accepts deliveries`)];
    const checked =
      config.stream === null ? 'the disk' : 'the disk and the network to the servers of STREAM_URL';
    const remedy = `see the ${name}’s log, and check ${checked}; if another program listens there, correct PORT`;
    return [fail(`${url} answers ${answer.status}: a balancer sends it no deliveries`, remedy)];
  } catch (error) {
    const cause = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    const remedy = `set HOST and PORT to the ${name}’s values; if they are right, restart the ${name}`;
    return [fail(`a ${name} runs, but ${url} does not answer (${cause})`, remedy)];
  }
}
