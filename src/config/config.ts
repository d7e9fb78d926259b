/**
 * The configuration: one place that reads the environment, and one object that is either correct or does not exist.
 * `read.ts` finds a text for each variable; this file checks the texts, alone and together, and arranges them for
 * their users.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type ConfigProblem } from './error.ts';
import { readPassed } from './passed.ts';
import { readTexts } from './read.ts';
import type { Sources } from './read.ts';
import { checkTogether } from './rules.ts';
import { remedyFor, VARIABLES, VARIABLE_NAMES } from './variables.ts';
import type { Values, Variable, VariableName } from './variables.ts';
import { linksFollowed } from '../platform/links-followed.ts';
import type { Secret } from '../platform/secret.ts';

export { ConfigError, formatConfigError } from './error.ts';
export { isLoopback } from './rules.ts';
export { SETTABLE_NAMES } from './variables.ts';

export type Config = ReturnType<typeof loadConfig>;
/** What commands need that ask the store nothing: an account that reads the file needs no secrets. */
export type LocalConfig = ReturnType<typeof loadLocalConfig>;

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
export function loadConfig(sources: ConfigSources = {}) {
  const { values, local, problems } = read(sources);
  if (problems.length > 0) throw new ConfigError(problems);
  const { SERVICE_WEBHOOK_SECRET: current, SERVICE_WEBHOOK_SECRET_PREVIOUS: previous } = values;
  return {
    ...local(),
    service: {
      baseUrl: values.SERVICE_BASE_URL,
      clientId: values.SERVICE_CLIENT_ID,
      clientSecret: values.SERVICE_CLIENT_SECRET,
      /** Keys that may sign a webhook: the current one, then the one being replaced. */
      webhookSecrets: [current, ...(previous === null ? [] : [previous])] as [Secret, ...Secret[]],
      maxConcurrency: values.SERVICE_MAX_CONCURRENCY,
      maxRps: values.SERVICE_MAX_RPS,
    },
  };
}

/**
 * As `loadConfig`, for commands that ask the store nothing. Settings of the store and the token of the private listener
 * may be missing, or in a file that this user may not read.
 *
 * @throws ConfigError naming every variable that is missing or wrong, if one is wrong.
 */
export function loadLocalConfig(sources: ConfigSources = {}) {
  const { local, problems } = read(sources);
  // What is absent is no obstacle, but is named with the rest: some of these commands may need it.
  if (problems.some(({ isAbsent }) => isAbsent !== true)) throw new ConfigError(problems);
  return local();
}

/** A build server runs this: nobody looks, even where it lends a terminal. */
export function runsUnattended(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return !['', 'false', '0', undefined].includes(env['CI']);
}

export interface DescribedVariable {
  readonly name: VariableName;
  readonly source: 'set' | 'default' | 'unset';
  /** null: unset. `[secret]` for what must not be shown, `[wrong]` for what is refused. */
  readonly value: string | null;
}

/** Every variable as it may be shown, also when the configuration is wrong. */
export function describeConfig(): DescribedVariable[] {
  const { texts } = readTexts(sourcesOf({}));
  return VARIABLE_NAMES.map((name) => {
    const variable: Variable = VARIABLES[name];
    const text = texts.get(name);
    if (text === undefined) {
      const value = variable.default ?? null;
      return { name, source: value === null ? 'unset' : 'default', value };
    }
    // A variable that may be read from a file is a secret, and a refused value may hold a secret in the wrong place.
    const isRight = text !== null && variable.schema.safeParse(text).success;
    const value = variable.fromFile === true ? '[secret]' : isRight ? text : '[wrong]';
    return { name, source: 'set', value };
  });
}

function sourcesOf({ env = process.env, cwd = process.cwd(), readFile }: ConfigSources): Sources {
  return { env, cwd, readFile: readFile ?? ((path) => readFileSync(path, 'utf8')) };
}

/** @returns values and settings that are complete only if there is no problem, but for what is absent. */
function read(given: ConfigSources) {
  const sources = sourcesOf(given);
  const { texts, problems, warnings } = readTexts(sources);
  const { passed, problem } = readPassed(sources.env, given.pid ?? process.pid);
  if (problem !== null) problems.push(problem);
  const found: Partial<Record<VariableName, unknown>> = {};
  for (const name of VARIABLE_NAMES) {
    const variable: Variable = VARIABLES[name];
    const text = texts.has(name) ? texts.get(name) : variable.default;
    if (text === null) continue;
    if (text !== undefined) warnings.push(...oddities(name, text));
    const remedy = /^tcp:/.test(text ?? '') ? SERVICE_LINK : remedyFor(name);
    if (text === undefined && variable.required !== true) found[name] = null;
    else if (text === undefined) problems.push({ name, problem: 'is missing', remedy, isAbsent: true });
    else {
      const { success, data, error } = variable.schema.safeParse(text);
      if (success) found[name] = data;
      else problems.push({ name, problem: error.issues[0]?.message ?? 'is wrong', remedy });
    }
  }
  // Each schema gives the type that `Values` has for its name.
  const values = found as unknown as Values;
  problems.push(...checkTogether(values));
  const webhook: Endpoint = { host: values.HOST, port: values.PORT, ...at(passed.webhooks) };
  const ops: Endpoint = { host: values.OPS_HOST, port: values.OPS_PORT, ...at(passed.ops) };
  const local = () => ({
    /** Absolute, links followed: files beside it are found by its path, and two names of one file are one database. */
    database: { path: linksFollowed(resolve(sources.cwd, values.DATABASE_PATH)) },
    /** The public listener. */
    webhook,
    /** The private listener. */
    ops: { ...ops, token: values.OPS_TOKEN ?? null },
    schedules: {
      /** croner patterns; null when switched off. */
      reconcileCron: values.RECONCILE_CRON,
      resyncCron: values.RESYNC_CRON,
      /** The time zone of the patterns; null: the system's own. */
      timezone: values.TZ,
    },
    /** By id. */
    warehouseNames: values.WAREHOUSE_NAMES ?? new Map<string, string>(),
    retentionDays: values.RETENTION_DAYS,
    logLevel: values.LOG_LEVEL,
    /** What is accepted but looks wrong, and is worth a line of the log. */
    warnings,
  });
  return { values, local, problems };
}

const SERVICE_LINK =
  'Kubernetes sets this variable for a Service of that name: set enableServiceLinks: false in the pod, or rename the Service.';

/** What a value has got on its way here by mistake, most likely. It may be meant: such values are accepted. */
function oddities(name: string, text: string): ConfigProblem[] {
  if (/[\p{Cc}\uFFFD]/u.test(text)) {
    return [
      {
        name,
        problem: 'contains a line break, another control character, or bytes that are not UTF-8',
        remedy: 'In .env, use single quotes or none: between double quotes, \\n becomes a line break.',
      },
    ];
  }
  if (text === text.trim() && !/^(["'`]).*\1$/.test(text)) return [];
  return [
    {
      name,
      problem: 'begins and ends with a quote, or with white space, as part of the value',
      remedy: 'Remove it: docker --env-file, Kubernetes and others pass quotes and spaces on as they are.',
    },
  ];
}

function at(fd: number | undefined): { fd?: number } {
  return fd === undefined ? {} : { fd };
}
