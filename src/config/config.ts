/**
 * The configuration: one place that reads the environment, and one object that is either correct or does not exist.
 * `texts.ts` finds a text for each variable; this file checks the texts, alone and together, and arranges them for
 * their users.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { linksFollowed } from '../platform/links-followed.ts';
import { Secret } from '../platform/secret.ts';
import { ConfigError, type ConfigProblem } from './error.ts';
import { plain } from './kinds.ts';
import { readPassed } from './passed.ts';
import { readTexts, type Sources } from './texts.ts';
import { isSecret, remedyFor, VARIABLE_NAMES, VARIABLES } from './variables.ts';
import type { Values, Variable, VariableName } from './variables.ts';

export { ConfigError, formatConfigError } from './error.ts';
export { SETTABLE_NAMES } from './variables.ts';

export type Config = ReturnType<typeof loadConfig>;
/** For commands that ask the store nothing: an account that reads the file needs no secrets. */
export type LocalConfig = ReturnType<typeof loadLocalConfig>;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** The descriptor of a socket that is already listening, in place of host and port. */
  readonly fd?: number;
}

/**
 * Reads and checks the configuration (docs/configuration.md). Without arguments it reads the process's own
 * environment and folder.
 *
 * @throws ConfigError naming every variable that is missing or wrong.
 */
export function loadConfig(sources: Partial<Sources> = {}) {
  const { values, local, problems } = read(sources);
  if (problems.length > 0) throw new ConfigError(problems);
  const { SERVICE_WEBHOOK_SECRET: current, SERVICE_WEBHOOK_SECRET_PREVIOUS: previous } = values;
  return {
    ...local(),
    service: {
      baseUrl: values.SERVICE_BASE_URL,
      clientId: values.SERVICE_CLIENT_ID,
      clientSecret: values.SERVICE_CLIENT_SECRET,
      /** The current key, then the one being replaced. */
      webhookSecrets: [current, ...(previous === null ? [] : [previous])] as [Secret, ...Secret[]],
      maxConcurrency: values.SERVICE_MAX_CONCURRENCY,
      maxRps: values.SERVICE_MAX_RPS,
    },
  };
}

/**
 * As `loadConfig`, for commands that ask the store nothing. Settings of the store and the tokens of the private
 * listener may be missing, or in a file that this user may not read.
 *
 * @throws ConfigError naming every variable that is missing or wrong, if one is wrong.
 */
export function loadLocalConfig(sources: Partial<Sources> = {}) {
  const { local, problems } = read(sources);
  // An absent value is no obstacle, but is named with the rest: some of these commands may need it.
  if (problems.some(({ isAbsent }) => isAbsent !== true)) throw new ConfigError(problems);
  return local();
}

/** A build server runs this: nobody looks, even where it lends a terminal. */
export function runsUnattended(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return !['', 'false', '0', undefined].includes(env['CI']);
}

export type DescribedVariable = ReturnType<typeof describeConfig>[number];

/**
 * Every variable as it may be shown, also when the configuration is wrong. `value`: null when unset, `[secret]` for
 * secrets, `[wrong]` for a refused text.
 */
export function describeConfig() {
  const { texts } = readTexts(sourcesOf({}));
  return VARIABLE_NAMES.map((name) => {
    const { kind, unset = null }: Variable = VARIABLES[name];
    const text = texts.get(name);
    if (text === undefined)
      return { name, source: unset === null ? ('unset' as const) : ('default' as const), value: unset };
    // A refused value may hold a secret in the wrong place.
    const isRight = text !== null && kind.parse(text) !== undefined;
    return { name, source: 'set' as const, value: isSecret(name) ? '[secret]' : isRight ? text : '[wrong]' };
  });
}

function sourcesOf({ env = process.env, cwd = process.cwd(), readFile }: Partial<Sources>): Sources {
  return { env, cwd, readFile: readFile ?? ((path) => readFileSync(path, 'utf8')) };
}

/** @returns values and settings that are complete only if there is no problem, but for what is absent. */
function read(given: Partial<Sources>) {
  const sources = sourcesOf(given);
  const { texts, problems, warnings } = readTexts(sources);
  const { passed, problems: ofPassed } = readPassed(sources.env);
  problems.push(...ofPassed);
  const found: Partial<Record<VariableName, unknown>> = {};
  for (const name of VARIABLE_NAMES) {
    const { kind, unset }: Variable = VARIABLES[name];
    const text = texts.has(name) ? texts.get(name) : unset;
    const remedy = text?.startsWith('tcp:') === true ? SERVICE_LINK : remedyFor(name);
    if (text === undefined) problems.push({ name, problem: 'is missing', remedy, isAbsent: true });
    if (text === null && !texts.has(name)) found[name] = null;
    if (typeof text !== 'string') continue;
    found[name] = kind.parse(text);
    const quoted = kind.shown === 'quoted' ? `${JSON.stringify(text)}, ` : '';
    if (found[name] === undefined)
      problems.push({ name, problem: `is ${quoted}not ${plain(kind.accepts)}`, remedy });
  }
  // Each kind gives the type that `Values` has for its name.
  const values = found as unknown as Values;
  problems.push(...checkTogether(values));
  const webhook: Endpoint = { host: values.HOST, port: values.PORT, ...passed.webhooks };
  const ops: Endpoint = { host: values.OPS_HOST, port: values.OPS_PORT, ...passed.ops };
  const local = () => ({
    /** Absolute, links followed: files beside it are found by its path, and two names of one file are one database. */
    database: { path: linksFollowed(resolve(sources.cwd, values.DATABASE_PATH)) },
    /** The public listener. */
    webhook,
    /** The private listener. */
    ops: { ...ops, token: values.OPS_TOKEN ?? null, readToken: values.OPS_READ_TOKEN ?? null },
    /** croner patterns; null when switched off. */
    schedules: { reconcileCron: values.RECONCILE_CRON, resyncCron: values.RESYNC_CRON },
    /** By id. */
    warehouseNames: values.WAREHOUSE_NAMES ?? new Map<string, string>(),
    retentionDays: values.RETENTION_DAYS,
    logLevel: values.LOG_LEVEL,
    /** Values that are accepted but look wrong, and are worth a line of the log. */
    warnings,
  });
  return { values, local, problems };
}

const SERVICE_LINK =
  'Kubernetes sets this variable for a Service of that name: set enableServiceLinks: false in the pod, or rename the Service.';

export function isLoopback(host: string): boolean {
  return /^localhost$/i.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Rules over several variables. A rule is not checked while a variable that it needs is itself wrong. */
function checkTogether(values: Partial<Values>): ConfigProblem[] {
  const { HOST, PORT, OPS_HOST, OPS_PORT, OPS_TOKEN, OPS_READ_TOKEN } = values;
  const problems: ConfigProblem[] = [];
  const isOpen = OPS_HOST !== undefined && !isLoopback(OPS_HOST);
  if (OPS_TOKEN === null && (isOpen || OPS_READ_TOKEN instanceof Secret)) {
    const problem = isOpen
      ? `is missing, and OPS_HOST ${OPS_HOST} can be reached from other machines`
      : 'is missing, and OPS_READ_TOKEN protects nothing without it';
    const remedy = `${remedyFor('OPS_TOKEN')}${isOpen ? ' Or set OPS_HOST=127.0.0.1.' : ''}`;
    problems.push({ name: 'OPS_TOKEN', problem, remedy, isAbsent: true });
  }
  // Port 0 is a different free port each time.
  if (HOST !== undefined && HOST === OPS_HOST && PORT !== undefined && PORT === OPS_PORT && PORT > 0) {
    const problem = `is ${PORT}, which HOST and PORT already use`;
    problems.push({ name: 'OPS_PORT', problem, remedy: 'Give the private listener a port of its own.' });
  }
  return problems;
}
