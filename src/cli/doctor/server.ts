/** The running mirror: does one hold the database, and do its two listeners answer? */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { capital, ownerWords } from '../../ops/condition/cause.ts';
import { CONDITIONS, CONDITION_TITLES } from '../../ops/condition/condition.ts';
import { stoppedCause } from '../../ops/condition/own-trouble.ts';
import { isThere } from '../../sqlite/is-there.ts';
import { inboxPath } from '../../inbox/inbox.ts';
import { isDatabaseLocked } from '../../sqlite/lock.ts';
import { causeSchema } from '../shared/cause-schema.ts';
import { fetchDirectly } from '../../platform/proxy.ts';
import { urlOf } from '../shared/listener-url.ts';
import { messageOf } from '../../platform/thrown.ts';
import { fail, ok, warn, type Check } from './check.ts';

/** The condition of the running mirror, as `status` has it. */
const conditionSchema = z.looseObject({
  condition: z.enum(CONDITIONS),
  headline: z.string(),
  causes: z.array(causeSchema),
});

const TIMEOUT_MS = 5_000;
/** Stands in for an HTTP status. */
const NO_ANSWER = 0;

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>> | null;
}

export async function checkServer(config: Pick<Config, 'webhook' | 'ops' | 'database'>): Promise<Check[]> {
  const publicUrl = urlOf(config.webhook, '/healthz');
  const privateUrl = urlOf(config.ops, '/api/status');
  const publicAnswer = await ask(publicUrl);
  const privateAnswer = await ask(privateUrl, config.ops.token?.reveal());
  // After the requests: a socket that systemd holds may be answered by a mirror that was just starting.
  const { server, isRunning } = checkLock(config.database.path);
  return [
    server,
    judgePublic(publicUrl, publicAnswer, { isRunning }),
    judgePrivate(privateUrl, privateAnswer, { isRunning }),
  ].flat();
}

/** Where this user may not look, whatever answers like the mirror is taken for it. */
function checkLock(path: string): { readonly server: Check; readonly isRunning: boolean } {
  try {
    return isDatabaseLocked(inboxPath(path))
      ? { server: ok('server', 'it holds the database'), isRunning: true }
      : { server: notRunning(path), isRunning: false };
  } catch (error) {
    const server = fail('server', messageOf(error), 'run this as the user who runs the mirror');
    return { server, isRunning: true };
  }
}

/** Before the first start nobody misses it. */
function notRunning(path: string): Check {
  const { cause, figures, remedy } = stoppedCause(null);
  const words = `${cause}: ${figures}`;
  return isThere(path) ? fail('server', words, remedy) : warn('server', words, remedy);
}

function judgePublic(
  url: string | null,
  answer: Answer | null,
  { isRunning }: { readonly isRunning: boolean },
): Check {
  const name = 'webhook listener';
  if (url === null)
    return warn(name, 'PORT is 0, a different port at each start', 'set PORT to a fixed port');
  if (answer === null) return silent(name, url, { isRunning }, 'HOST and PORT');
  if (answer.status === NO_ANSWER) return mute(name, url, answer);
  const isOurs = answer.json?.['status'] === 'ok' || answer.json?.['error'] === 'unavailable';
  if (!isOurs || !isRunning) return foreign(name, url, 'PORT');
  if (answer.status === 200) return ok(name, `${url} can accept and commit a delivery`);
  return fail(
    name,
    `${url} answers ${answer.status}: it cannot commit`,
    'look at the log output of the mirror, and at the disk',
  );
}

function judgePrivate(
  url: string | null,
  answer: Answer | null,
  { isRunning }: { readonly isRunning: boolean },
): Check | Check[] {
  const name = 'private listener';
  if (url === null)
    return warn(name, 'OPS_PORT is 0, a different port at each start', 'set OPS_PORT to a fixed port');
  if (answer === null) return silent(name, url, { isRunning }, 'OPS_HOST and OPS_PORT');
  if (answer.status === NO_ANSWER) return mute(name, url, answer);
  const state = answer.json?.['state'];
  if (answer.status === 401)
    return fail(name, `${url} has another OPS_TOKEN`, 'give this command the same token');
  if (typeof state !== 'string' || !isRunning) return foreign(name, url, 'OPS_PORT');
  const told = conditionSchema.safeParse(answer.json);
  if (told.success) return judgeCondition(name, url, told.data);
  if (state === 'live') return ok(name, `${url}: the mirror is live`);
  return warn(name, `${url}: the mirror is ${state}`, '`stock-mirror status` shows what it is waiting for');
}

function judgeCondition(name: string, url: string, told: z.infer<typeof conditionSchema>): Check[] {
  const { condition, headline, causes } = told;
  const title = `${url}: ${CONDITION_TITLES[condition]}`;
  if (causes.length === 0) {
    if (condition === 'live') return [ok(name, `${title}: ${headline}`)];
    return [warn(name, `${title}: ${headline}`, 'nothing: it ends by itself')];
  }
  return causes.map((cause, index) => {
    const words = `${title}: ${cause.cause}. ${ownerWords(cause)}. ${capital(cause.figures)}`;
    // The first one blocks.
    return (condition === 'blocked' && index === 0 ? fail : warn)(name, words, cause.remedy);
  });
}

function silent(
  name: string,
  url: string,
  { isRunning }: { readonly isRunning: boolean },
  variables: string,
): Check {
  if (!isRunning) return warn(name, `nothing listens at ${url}`, 'start the mirror');
  return fail(
    name,
    `a mirror runs, but not at ${url}`,
    `give this command the ${variables} of the running mirror`,
  );
}

function mute(name: string, url: string, { json }: Answer): Check {
  return fail(
    name,
    `${url} accepts connections but does not answer (${String(json?.['problem'])})`,
    'look at the log output of the mirror; if it hangs, restart it',
  );
}

function foreign(name: string, url: string, variable: string): Check {
  return fail(
    name,
    `another program, or another mirror, answers at ${url}, not the mirror of this database`,
    `correct ${variable}, or stop that program`,
  );
}

/** @returns null when nothing listens there, or there is no address to ask. */
async function ask(url: string | null, token?: string): Promise<Answer | null> {
  if (url === null) return null;
  try {
    const response = await fetchDirectly(url, {
      redirect: 'manual',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return { status: response.status, json: parse(text) };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const code = cause instanceof Error && 'code' in cause ? cause.code : null;
    if (code === 'ECONNREFUSED') return null;
    return { status: NO_ANSWER, json: { problem: messageOf(cause instanceof Error ? cause : error) } };
  }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
