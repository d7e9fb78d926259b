/**
 * The configuration: one place that reads the environment, and one object that is either correct or does not exist.
 * Two steps: `raw.ts` finds a text for each variable, this file checks the texts, alone and together, and
 * arranges them for their users.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeVariables } from './describe.ts';
import type { DescribedVariable } from './describe.ts';
import { ConfigError } from './error.ts';
import type { ConfigProblem } from './error.ts';
import { followLinks } from './linked-path.ts';
import { readPassed } from './passed.ts';
import type { PassedDescriptors } from './passed.ts';
import { readRaw } from './raw.ts';
import type { RawConfig, Sources } from './raw.ts';
import { checkTogether } from './rules.ts';
import type { LogLevel } from './schemas.ts';
import { VARIABLES, VARIABLE_NAMES } from './variables.ts';
import type { Values, Variable, VariableName } from './variables.ts';
import type { Secret } from '../platform/secret.ts';

export { ConfigError, formatConfigError } from './error.ts';
export { isLoopback } from './rules.ts';
export { SETTABLE_NAMES } from './variables.ts';

export interface Config {
  readonly service: {
    /** Without a final slash. */
    readonly baseUrl: string;
    readonly clientId: string;
    readonly clientSecret: Secret;
    /** Keys that may sign a webhook: the current one, then the one being replaced. */
    readonly webhookSecrets: readonly [Secret, ...Secret[]];
    /** Most reads in flight at once. */
    readonly maxConcurrency: number;
    /** Most requests per second. */
    readonly maxRps: number;
  };
  readonly database: {
    /** Absolute, links followed. */
    readonly path: string;
  };
  /** The public listener. */
  readonly webhook: Endpoint;
  /** The private listener. */
  readonly ops: Endpoint & { readonly token: Secret | null };
  readonly schedules: {
    /** croner patterns; null when switched off. */
    readonly reconcileCron: string | null;
    readonly resyncCron: string | null;
    /** The time zone of the patterns; null means the system's own. */
    readonly timezone: string | null;
    /** What `reconcileCron` may have read while nothing is proven lost. */
    readonly readsPerHour: number;
    /** No product goes unread for longer, as long as that schedule runs. */
    readonly longestUnreadMs: number;
  };
  /** What the operator calls warehouses, by id. */
  readonly warehouseNames: ReadonlyMap<string, string>;
  readonly retentionDays: number;
  readonly logLevel: LogLevel;
  /** Names that look misspelt. They are ignored, and worth a line of the log. */
  readonly warnings: readonly ConfigProblem[];
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** The descriptor of a socket that is already listening, in place of host and port. */
  readonly fd?: number;
}

type ConfigSources = Partial<Sources & { readonly pid: number }>;

/**
 * Reads and checks the configuration (docs/configuration.md). Without arguments it reads the process's own
 * environment and folder.
 *
 * @throws ConfigError naming every variable that is missing or wrong.
 */
export function loadConfig(sources: ConfigSources = {}): Config {
  return accept(readAll(sources));
}

/** What commands need that ask the store nothing: an account that reads the file needs no secrets. */
export type LocalConfig = Omit<Config, 'service'>;

/**
 * As `loadConfig`, without the settings of the store, which may be missing or out of reach for this user. So may the
 * token of the private listener, which is then not asked.
 *
 * @throws ConfigError naming every other variable that is wrong.
 */
export function loadLocalConfig(sources: ConfigSources = {}): LocalConfig {
  return accept(readAll(sources), ({ name, problem }) => isOfStore(name) || isOutOfReach(problem));
}

const isOfStore = (name: string): boolean => name.startsWith('SERVICE_') || name.startsWith('OPS_TOKEN');
/** A file of secrets that only the mirror's own user may read, its `.env` among them. */
const isOutOfReach = (problem: string): boolean => /cannot be read \((?:EACCES|EPERM)\)$/.test(problem);

/** What is wrong with a text as the value of a variable; null: nothing. */
export function problemOf(name: VariableName, text: string): ConfigProblem | null {
  const variable: Variable = VARIABLES[name];
  const result = variable.schema.safeParse(text);
  if (result.success) return null;
  return { name, problem: result.error.issues[0]?.message ?? 'is wrong', remedy: variable.remedy };
}

/** Those of these variables that the environment sets itself, in either form, so that `.env` has no say in them. */
export function setByEnvironment(
  names: Iterable<VariableName>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): VariableName[] {
  return [...names].filter((name) => env[name] !== undefined || env[`${name}_FILE`] !== undefined);
}

/** The process's own environment, with what a command line says instead: undefined takes a variable away. */
export function environmentWith(
  said: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return { ...process.env, ...said };
}

/** A build server runs this: nobody looks, even where it lends a terminal. */
export function runsUnattended(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return !['', 'false', '0', undefined].includes(env['CI']);
}

/** Every variable as it may be shown, also when the configuration is wrong. */
export function describeConfig(): DescribedVariable[] {
  const readFile = (path: string) => readFileSync(path, 'utf8');
  return describeVariables({ env: process.env, cwd: process.cwd(), readFile });
}

interface Found {
  readonly values: Partial<Values>;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
  readonly passed: PassedDescriptors;
  readonly cwd: string;
}

function readAll({
  env = process.env,
  cwd = process.cwd(),
  readFile = (path: string) => readFileSync(path, 'utf8'),
  pid = process.pid,
}: ConfigSources): Found {
  const raw = readRaw({ env, cwd, readFile });
  const { values, problems } = check(raw);
  const { passed, problems: ofSockets } = readPassed(env, pid);
  return {
    values,
    problems: [...raw.problems, ...ofSockets, ...problems, ...checkTogether(values)],
    warnings: raw.warnings,
    passed,
    cwd,
  };
}

/** @param isForgiven problems of what the caller does without. @throws ConfigError naming the others. */
function accept(found: Found, isForgiven: (problem: ConfigProblem) => boolean = () => false): Config {
  const left = found.problems.filter((problem) => !isForgiven(problem));
  if (left.length > 0) throw new ConfigError(left);
  // Without a problem every variable has its value; the token of a file out of reach is not asked.
  const values = { ...found.values, OPS_TOKEN: found.values.OPS_TOKEN ?? null } as Values;
  return { ...arrange(values, found.passed, found.cwd), warnings: found.warnings };
}

function check(raw: RawConfig): { values: Partial<Values>; problems: ConfigProblem[] } {
  const values: Partial<Record<VariableName, unknown>> = {};
  const problems: ConfigProblem[] = [];
  for (const name of VARIABLE_NAMES) {
    if (raw.unreadable.has(name)) continue;
    const variable: Variable = VARIABLES[name];
    const text = raw.texts.get(name) ?? variable.default;
    if (text === undefined) {
      if (variable.required === true) problems.push({ name, problem: 'is missing', remedy: variable.remedy });
      else values[name] = null;
      continue;
    }
    const problem = problemOf(name, text);
    if (problem === null) values[name] = variable.schema.parse(text);
    else problems.push(problem);
  }
  // Each schema gives the type that `Values` has for its name.
  return { values: values as Partial<Values>, problems };
}

function arrange(values: Values, passed: PassedDescriptors, cwd: string): Omit<Config, 'warnings'> {
  const previous = values.SERVICE_WEBHOOK_SECRET_PREVIOUS;
  return {
    service: {
      baseUrl: values.SERVICE_BASE_URL,
      clientId: values.SERVICE_CLIENT_ID,
      clientSecret: values.SERVICE_CLIENT_SECRET,
      webhookSecrets: [values.SERVICE_WEBHOOK_SECRET, ...(previous === null ? [] : [previous])],
      maxConcurrency: values.SERVICE_MAX_CONCURRENCY,
      maxRps: values.SERVICE_MAX_RPS,
    },
    database: { path: followLinks(resolve(cwd, values.DATABASE_PATH)) },
    webhook: { host: values.HOST, port: values.PORT, ...at(passed.webhooks) },
    ops: { host: values.OPS_HOST, port: values.OPS_PORT, token: values.OPS_TOKEN, ...at(passed.ops) },
    schedules: {
      readsPerHour: values.RECONCILE_READS_PER_HOUR,
      longestUnreadMs: values.RECONCILE_MAX_AGE_HOURS * 60 * 60_000,
      reconcileCron: values.RECONCILE_CRON,
      resyncCron: values.RESYNC_CRON,
      timezone: values.TZ,
    },
    warehouseNames: values.WAREHOUSE_NAMES ?? new Map(),
    retentionDays: values.RETENTION_DAYS,
    logLevel: values.LOG_LEVEL,
  };
}

function at(fd: number | undefined): { fd?: number } {
  return fd === undefined ? {} : { fd };
}
