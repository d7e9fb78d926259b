/** The only source for every variable. `npm run generate` writes `.env.example` and docs/configuration.md from it. */
import * as is from './kinds.ts';
import type { Kind } from './kinds.ts';

export interface Variable<T = unknown> {
  readonly kind: Kind<T>;
  readonly meaning: string;
  /** The text used if the variable is unset; null if its value is then null; undefined if it is required. */
  readonly unset?: string | null;
}

const required = <T>(kind: Kind<T>, meaning: string): Variable<T> => ({ kind, meaning });
const optional = <T>(kind: Kind<T>, meaning: string): Variable<T | null> => ({ kind, meaning, unset: null });
const preset = <T>(unset: string, kind: Kind<T>, meaning: string): Variable<T> => ({ kind, meaning, unset });

const LOCAL = '127.0.0.1';
const port = is.wholeNumber(0, 65535);

export const VARIABLES = {
  SERVICE_BASE_URL: required(is.baseUrl, "Base address of the store's API"),
  SERVICE_CLIENT_ID: required(is.plainText, 'OAuth client id of your app'),
  SERVICE_CLIENT_SECRET: required(is.secret, 'OAuth client secret of your app'),
  SERVICE_WEBHOOK_SECRET: required(is.secret, 'Key of the webhook signature'),
  SERVICE_WEBHOOK_SECRET_PREVIOUS: optional(is.secret, 'Previous key of the signature, also accepted'),
  SERVICE_MAX_CONCURRENCY: preset('8', is.wholeNumber(1, 256), 'Maximum number of reads in flight'),
  SERVICE_MAX_RPS: preset(
    '50',
    is.wholeNumber(1, 10_000),
    'Maximum number of requests per second to the store',
  ),
  DATABASE_PATH: preset('./data/stock-mirror.db', is.databaseFile, 'Database file; its folder is created'),
  RETENTION_DAYS: preset('30', is.wholeNumber(1, 3650), 'Days that deliveries and changes are kept'),
  RECONCILE_CRON: preset(
    '*/15 * * * *',
    is.schedule,
    'Cron times at which products whose reads the store refused are tried again. With `off`, there are no ' +
      'scheduled reads except after losses, and no value counts as unchecked',
  ),
  VERIFY_WITHIN_HOURS: preset(
    '2',
    is.wholeNumber(1, 720),
    'Every product is read at least this often, by [scheduled reads](architecture.md#schedule)',
  ),
  RESYNC_CRON: preset('0 3 * * *', is.schedule, 'Cron times at which the whole catalogue is read'),
  TZ: optional(is.timeZone, "Time zone of the cron times; by default the system's"),
  WAREHOUSE_NAMES: optional(
    is.warehouseNames,
    'Names of warehouses, for people and as `warehouse_name` in the views and the API. The page can name the others, ' +
      'with its filter of the stock by warehouse. A name that is no longer given here stays until the page changes it',
  ),
  HOST: preset(LOCAL, is.host, 'Address of the public listener; `0.0.0.0` for every interface'),
  PORT: preset('8787', port, 'Port of the public listener; 0: any free port'),
  OPS_HOST: preset(LOCAL, is.host, 'Address of the private listener'),
  OPS_PORT: preset('8788', port, 'Port of the private listener; 0: any free port'),
  OPS_TOKEN: optional(
    is.bearerToken,
    'Token of the private listener; required unless `OPS_HOST` is a loopback address',
  ),
  OPS_READ_TOKEN: optional(is.bearerToken, 'Token for programs that only read: allows `GET` and `HEAD`'),
  ALERT_URL: optional(
    is.secretUrl,
    'Address that gets a POST when an urgent cause begins or ends ([alerts](operating.md#metrics-and-alerts))',
  ),
  ALERT_PING_URL: optional(is.secretUrl, 'Address that gets a GET each minute'),
  STREAM_URL: optional(
    is.streamUrls,
    'NATS servers that carry deliveries between [several machines](several-machines.md)',
  ),
  STREAM_NAME: preset(
    'stock-mirror',
    is.streamName,
    'Name of the stream. Use a different one for each store',
  ),
  STREAM_USER: optional(is.plainText, 'User at the NATS servers'),
  STREAM_PASSWORD: optional(is.secret, 'Password of `STREAM_USER`'),
  STREAM_CA_FILE: optional(
    is.certificateFile,
    'PEM file with the certificates of the authority of the NATS servers; by default those that Node knows',
  ),
  ROLE: preset(
    'both',
    is.role,
    'A `receiver` only takes webhooks; a `mirror` runs next to a receiver with the same ' +
      '`DATABASE_PATH`, or takes them from the stream',
  ),
  STOCK_MIRROR_COMMAND: optional(
    is.plainText,
    'How remedies name `stock-mirror`; units and containers set it',
  ),
  LOG_LEVEL: preset('info', is.logLevel, 'Least severe log lines that are written'),
  LOG_FORMAT: optional(is.logFormat, 'Form of log lines; by default text on a terminal, otherwise JSON'),
};

export type VariableName = keyof typeof VARIABLES;

export type Values = {
  [Name in VariableName]: (typeof VARIABLES)[Name] extends Variable<infer T> ? T : never;
};

export const VARIABLE_NAMES = Object.keys(VARIABLES) as readonly VariableName[];

/** Whether `<NAME>_FILE` may name a file that holds the value. */
export const isSecret = (name: VariableName): boolean => VARIABLES[name].kind.shown === 'secret';

/** Names that may be set, including the `_FILE` forms. */
export const SETTABLE_NAMES: readonly string[] = VARIABLE_NAMES.flatMap((name) =>
  isSecret(name) ? [name, `${name}_FILE`] : [name],
);

export function remedyFor(name: VariableName): string {
  const { meaning, kind } = VARIABLES[name];
  const file = isSecret(name) ? ` Or name a file that holds it in ${name}_FILE.` : '';
  return is.plain(`${meaning}. Set it to ${kind.accepts}.${file}`);
}
