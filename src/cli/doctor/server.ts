/** The running server: does one hold the database, and do its two listeners answer. */
import type { Config } from '../../config.ts';
import { isDatabaseLocked } from '../../store/lock.ts';
import { urlOf } from '../listener-url.ts';
import { fail, messageOf, ok, warn, type Check } from './check.ts';

const TIMEOUT_MS = 5_000;

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>> | null;
}

export async function checkServer(config: Config): Promise<Check[]> {
  const isRunning = isDatabaseLocked(config.database.path);
  const server = isRunning
    ? ok('server', 'it holds the database')
    : warn('server', 'none runs on this database: webhooks are not received', 'start it: stock-mirror serve');
  return [server, await checkPublic(config, isRunning), await checkPrivate(config, isRunning)];
}

async function checkPublic({ webhook }: Config, isRunning: boolean): Promise<Check> {
  const name = 'webhook listener';
  const url = urlOf(webhook, '/healthz');
  if (url === null)
    return warn(name, 'PORT is 0, a different port at each start', 'set PORT to one of your choice');
  const answer = await ask(url);
  if (answer === null) return silent(name, url, isRunning, 'HOST and PORT');
  const isOurs = answer.json?.['status'] === 'ok' || answer.json?.['error'] === 'unavailable';
  if (!isOurs || !isRunning) return foreign(name, url, 'PORT');
  if (answer.status === 200) return ok(name, `${url} can accept and commit a delivery`);
  return fail(
    name,
    `${url} answers ${answer.status}: it cannot commit`,
    'see the log of the server, and the disk',
  );
}

async function checkPrivate({ ops }: Config, isRunning: boolean): Promise<Check> {
  const name = 'private listener';
  const url = urlOf(ops, '/readyz');
  if (url === null)
    return warn(name, 'OPS_PORT is 0, a different port at each start', 'set OPS_PORT to one of your choice');
  const answer = await ask(url, ops.token?.reveal());
  if (answer === null) return silent(name, url, isRunning, 'OPS_HOST and OPS_PORT');
  const state = answer.json?.['state'];
  if (answer.status === 401)
    return fail(name, `${url} has another OPS_TOKEN`, 'give this command the same one');
  if (typeof state !== 'string' || !isRunning) return foreign(name, url, 'OPS_PORT');
  if (state === 'live') return ok(name, `${url}: the mirror is live`);
  return warn(name, `${url}: the mirror is ${state}`, 'stock-mirror status says what it waits for');
}

function silent(name: string, url: string, isRunning: boolean, variables: string): Check {
  if (!isRunning) return warn(name, `nobody listens at ${url}`, 'start the server');
  return fail(name, `a server runs, but not at ${url}`, `give this command the ${variables} of the server`);
}

function foreign(name: string, url: string, variable: string): Check {
  return fail(
    name,
    `what answers at ${url} is not the server of this database`,
    `correct ${variable}, or stop it`,
  );
}

/** @returns null when nobody listens. */
async function ask(url: string, token?: string): Promise<Answer | null> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return { status: response.status, json: parse(text) };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const code = cause instanceof Error && 'code' in cause ? cause.code : null;
    return code === 'ECONNREFUSED' ? null : { status: 0, json: { problem: messageOf(error) } };
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
