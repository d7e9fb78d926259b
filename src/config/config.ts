/** Reads the environment into one object that is either correct or does not exist. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Cron } from 'croner';
import { isLoopback } from '../platform/authority.ts';
import { linksFollowed } from '../platform/links-followed.ts';
import { Secret } from '../platform/secret.ts';
import { ConfigError, type ConfigProblem } from './error.ts';
import { plain } from './kinds.ts';
import { readTexts, type Sources } from './texts.ts';
import {
  isSecret,
  remedyFor,
  VARIABLE_NAMES,
  VARIABLES,
  type Values,
  type Variable,
  type VariableName,
} from './variables.ts';

export { ConfigError, formatConfigError } from './error.ts';
export { SETTABLE_NAMES } from './variables.ts';

export type Config = ReturnType<typeof loadConfig>;
/** For commands that send the store no request, and so need no secrets. */
export type LocalConfig = ReturnType<typeof loadLocalConfig>;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** An inherited socket that is already listening, instead of host and port. */
  readonly fd?: number;
}

/** @throws ConfigError naming every variable that is missing or wrong (docs/configuration.md). */
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
      /** The current key, then the previous one. */
      webhookSecrets: [current, ...(previous === null ? [] : [previous])] as [Secret, ...Secret[]],
      maxConcurrency: values.SERVICE_MAX_CONCURRENCY,
      maxRps: values.SERVICE_MAX_RPS,
    },
  };
}

/** Like `loadConfig`, but store settings and private tokens may be absent. @throws ConfigError if one is wrong. */
export function loadLocalConfig(sources: Partial<Sources> = {}) {
  const { local, problems } = read(sources);
  // Report absent values only together with a wrong one: few of these commands need them.
  if (problems.some(({ isAbsent }) => isAbsent !== true)) throw new ConfigError(problems);
  return local();
}

/** A build server runs this, so no one reads the terminal. */
export function runsUnattended(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return !['', 'false', '0', undefined].includes(env['CI']);
}

export type DescribedVariable = ReturnType<typeof describeConfig>[number];

/** Every variable as it may be shown, even if wrong. `value`: null when unset, `[secret]`, or `[wrong]`. */
export function describeConfig() {
  const { texts } = readTexts(sourcesOf({}));
  return VARIABLE_NAMES.map((name) => {
    const { kind, unset = null }: Variable = VARIABLES[name];
    const text = texts.get(name);
    if (text === undefined)
      return { name, source: unset === null ? ('unset' as const) : ('default' as const), value: unset };
    const isRight = text !== null && kind.parse(text) !== undefined;
    return { name, source: 'set' as const, value: isSecret(name) ? '[secret]' : isRight ? text : '[wrong]' };
  });
}

function sourcesOf({ env = process.env, cwd = process.cwd(), readFile }: Partial<Sources>): Sources {
  return { env, cwd, readFile: readFile ?? ((path) => readFileSync(path, 'utf8')) };
}

/** @returns values and settings that are complete only if `problems` is empty, except for absent values. */
function read(from: Partial<Sources>) {
  const sources = sourcesOf(from);
  const { texts, problems, warnings } = readTexts(sources);
  const { passed, problems: ofPassed, warnings: aboutPassed } = readPassed(sources.env);
  problems.push(...ofPassed);
  warnings.push(...aboutPassed);
  const parsed: Partial<Record<VariableName, unknown>> = {};
  for (const name of VARIABLE_NAMES) {
    const { kind, unset }: Variable = VARIABLES[name];
    const text = texts.has(name) ? texts.get(name) : unset;
    const remedy = text?.startsWith('tcp:') === true ? SERVICE_LINK : remedyFor(name);
    if (text === undefined) problems.push({ name, problem: 'is missing', remedy, isAbsent: true });
    if (text === null && !texts.has(name)) parsed[name] = null;
    if (typeof text !== 'string') continue;
    parsed[name] = kind.parse(text);
    const quoted = kind.shown === 'quoted' ? `${JSON.stringify(text)}, ` : '';
    if (parsed[name] === undefined)
      problems.push({ name, problem: `is ${quoted}not ${plain(kind.accepts)}`, remedy });
  }
  const values = parsed as unknown as Values;
  problems.push(...checkTogether(values));
  const webhook: Endpoint = { host: values.HOST, port: values.PORT, ...passed.webhooks };
  const ops: Endpoint = { host: values.OPS_HOST, port: values.OPS_PORT, ...passed.ops };
  const local = () => ({
    /** Absolute, with symbolic links resolved: the inbox and lock files are found by this path. */
    database: { path: linksFollowed(resolve(sources.cwd, values.DATABASE_PATH)) },
    webhook,
    ops: { ...ops, token: values.OPS_TOKEN ?? null, readToken: values.OPS_READ_TOKEN ?? null },
    /** croner patterns, or null if off. */
    schedules: {
      reconcileCron: values.RECONCILE_CRON,
      verifyWithinHours: values.VERIFY_WITHIN_HOURS,
      resyncCron: values.RESYNC_CRON,
      timezone: values.TZ ?? null,
    },
    warehouseNames: values.WAREHOUSE_NAMES ?? new Map<string, string>(),
    retentionDays: values.RETENTION_DAYS,
    alerts: { url: values.ALERT_URL ?? null, pingUrl: values.ALERT_PING_URL ?? null },
    /** null if this is the only machine. */
    stream:
      values.STREAM_URL === null
        ? null
        : {
            servers: values.STREAM_URL,
            name: values.STREAM_NAME,
            user: values.STREAM_USER,
            password: values.STREAM_PASSWORD,
            caFile: values.STREAM_CA_FILE === null ? null : resolve(sources.cwd, values.STREAM_CA_FILE),
          },
    role: values.ROLE,
    /** How an operator types `stock-mirror` here; null if unknown. */
    command: values.STOCK_MIRROR_COMMAND,
    logLevel: values.LOG_LEVEL,
    /** null: text on a terminal, otherwise JSON. */
    logFormat: values.LOG_FORMAT,
    /** Device and inode of systemd's journal; null without one. */
    journalStream: sources.env['JOURNAL_STREAM'] ?? null,
    warnings,
  });
  return { values, local, problems };
}

const SERVICE_LINK =
  'Kubernetes sets this variable for a Service of that name: set enableServiceLinks: ' +
  'false in the pod, or rename the Service.';

/** A rule over several variables is skipped if one that it needs is wrong. */
function checkTogether(values: Partial<Values>): ConfigProblem[] {
  const { PORT, OPS_HOST, OPS_PORT, OPS_TOKEN, OPS_READ_TOKEN } = values;
  const problems: ConfigProblem[] = [];
  const isOpen = OPS_HOST !== undefined && !isLoopback(OPS_HOST);
  if (OPS_TOKEN === null && (isOpen || OPS_READ_TOKEN instanceof Secret)) {
    const problem = isOpen
      ? `is missing, and OPS_HOST ${OPS_HOST} can be reached from other machines`
      : 'is missing, and OPS_READ_TOKEN protects nothing without it';
    const remedy = `${remedyFor('OPS_TOKEN')}${isOpen ? ' Or set OPS_HOST=127.0.0.1.' : ''}`;
    problems.push({ name: 'OPS_TOKEN', problem, remedy, isAbsent: true });
  }
  if (OPS_TOKEN instanceof Secret && OPS_TOKEN.reveal() === OPS_READ_TOKEN?.reveal()) {
    const problem = 'equals OPS_TOKEN, so it allows everything';
    problems.push({ name: 'OPS_READ_TOKEN', problem, remedy: 'Set one of the two to another value.' });
  }
  const { STREAM_USER, STREAM_PASSWORD } = values;
  if ((STREAM_USER === null) !== (STREAM_PASSWORD === null)) {
    const name = STREAM_USER === null ? 'STREAM_USER' : 'STREAM_PASSWORD';
    const problem = 'is missing: user and password are set together';
    problems.push({ name, problem, remedy: remedyFor(name), isAbsent: true });
  }
  const { RECONCILE_CRON, VERIFY_WITHIN_HOURS: hours } = values;
  if (
    typeof RECONCILE_CRON === 'string' &&
    hours !== undefined &&
    pausesFor(RECONCILE_CRON, hours * HOUR_MS)
  ) {
    const problem = `is ${JSON.stringify(RECONCILE_CRON)}, which pauses for longer than VERIFY_WITHIN_HOURS=${hours}`;
    const remedy = `Set it to times that are at most ${hours} h apart, or to off, or raise VERIFY_WITHIN_HOURS.`;
    problems.push({ name: 'RECONCILE_CRON', problem, remedy });
  }
  // Port 0 picks a free port each time.
  if (PORT !== undefined && PORT === OPS_PORT && PORT > 0) {
    const problem = `is ${PORT}, which PORT already uses`;
    problems.push({ name: 'OPS_PORT', problem, remedy: 'Set it to another port.' });
  }
  return problems;
}

const HOUR_MS = 60 * 60_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
/** A fixed time, and UTC, so that the answer does not depend on the day. A named zone would load 6 MB of them. */
const MONDAY_MS = Date.UTC(2024, 0, 1);

/** @returns whether two times of the schedule, at any hour of a week, are more than `mostMs` apart. */
function pausesFor(schedule: string, mostMs: number): boolean {
  const cron = new Cron(schedule, { paused: true, utcOffset: 0 });
  let atMs = MONDAY_MS;
  while (atMs < MONDAY_MS + WEEK_MS + mostMs) {
    const [last] = cron.previousRuns(1, new Date(atMs + mostMs + 1));
    if (last === undefined || last.getTime() <= atMs) return true;
    atMs = last.getTime();
  }
  return false;
}

/** `FileDescriptorName=` in the socket units. */
const SOCKET_NAMES = ['webhooks', 'ops'] as const;
type PassedSockets = Partial<Record<(typeof SOCKET_NAMES)[number], { readonly fd: number }>>;

const FIRST_DESCRIPTOR = 3;

/** systemd socket activation (sd_listen_fds(3)): the kernel holds connections while the mirror restarts. */
function readPassed(env: Readonly<Record<string, string | undefined>>): {
  passed: PassedSockets;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
} {
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '', LISTEN_FDNAMES: list = '' } = env;
  if (forPid === undefined) return { passed: {}, problems: [], warnings: [] };
  if (forPid !== String(process.pid)) {
    const ofAnother = {
      name: 'LISTEN_PID',
      problem:
        `is ${JSON.stringify(forPid)}, the id of another process: ` +
        'the sockets that LISTEN_FDS names are not used, and webhooks sent to them get no answer',
      remedy:
        'Start the program itself, not through npm or a shell that stays: ' +
        '`exec` replaces a shell. If no socket is meant for it, unset LISTEN_PID and LISTEN_FDS.',
    };
    return { passed: {}, problems: [], warnings: [ofAnother] };
  }
  const names = list.split(':');
  const passed = Object.fromEntries(names.map((name, index) => [name, { fd: FIRST_DESCRIPTOR + index }]));
  const known = SOCKET_NAMES.filter((name) => name in passed);
  if (known.length === names.length && count === String(names.length)) {
    return { passed, problems: [], warnings: [] };
  }
  const problem = `is ${JSON.stringify(list)} for LISTEN_FDS=${count}: each socket is either webhooks or ops, once`;
  const remedy =
    'Set FileDescriptorName=webhooks in the socket unit, or ops in that of the private listener.';
  return { passed: {}, problems: [{ name: 'LISTEN_FDNAMES', problem, remedy }], warnings: [] };
}
