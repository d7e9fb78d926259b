/**
 * Every variable: what it sets, what it may hold, its default. The only source: it validates, gives the remedies of
 * errors, and `npm run generate` writes `.env.example` and the table of docs/configuration.md from it.
 */
import * as is from './schemas.ts';
import type { z } from 'zod';

export interface Variable {
  readonly schema: z.ZodType<unknown, string>;
  /** In Markdown. */
  readonly meaning: string;
  /** The text used when the variable is unset. Without one, an optional variable that is unset is `null`. */
  readonly default?: string;
  readonly required?: true;
  /** The value may also come from the file that `<NAME>_FILE` names. */
  readonly fromFile?: true;
}

export const VARIABLES = {
  SERVICE_BASE_URL: { schema: is.baseUrl, required: true, meaning: "Base address of the store's API" },
  SERVICE_CLIENT_ID: { schema: is.plainText, required: true, meaning: 'OAuth client id of your app' },
  SERVICE_CLIENT_SECRET: {
    schema: is.secret,
    required: true,
    fromFile: true,
    meaning: 'OAuth client secret of your app',
  },
  SERVICE_WEBHOOK_SECRET: {
    schema: is.secret,
    required: true,
    fromFile: true,
    meaning: 'Key of the webhook signature',
  },
  SERVICE_WEBHOOK_SECRET_PREVIOUS: {
    schema: is.secret,
    fromFile: true,
    meaning: 'Previous key of the signature, also accepted',
  },
  SERVICE_MAX_CONCURRENCY: {
    schema: is.wholeNumber(1, 256),
    default: '8',
    meaning: 'Most reads in flight at once',
  },
  SERVICE_MAX_RPS: {
    schema: is.wholeNumber(1, 10_000),
    default: '50',
    meaning: 'Most requests per second to the store',
  },
  DATABASE_PATH: {
    schema: is.databaseFile,
    default: './data/stock-mirror.db',
    meaning: 'Database file; its folder is created',
  },
  RETENTION_DAYS: {
    schema: is.wholeNumber(1, 3650),
    default: '30',
    meaning: 'Days that deliveries and changes are kept',
  },
  RECONCILE_CRON: {
    schema: is.schedule,
    default: '*/15 * * * *',
    meaning: 'When the products with the [oldest evidence](architecture.md#schedule) are read',
  },
  RESYNC_CRON: { schema: is.schedule, default: '0 3 * * *', meaning: 'When the whole catalogue is read' },
  TZ: { schema: is.timeZone, meaning: "Time zone of the two schedules; unset, the system's own" },
  WAREHOUSE_NAMES: {
    schema: is.warehouseNames,
    meaning: 'Names of warehouses, shown with their ids; `warehouse_name` in the views and the API',
  },
  HOST: { schema: is.host, default: '127.0.0.1', meaning: 'Public address; `0.0.0.0` for every interface' },
  PORT: {
    schema: is.wholeNumber(0, 65535),
    default: '8787',
    meaning: 'Port of the public listener: `POST /webhooks` and `GET /healthz`; 0: any free port',
  },
  OPS_HOST: {
    schema: is.host,
    default: '127.0.0.1',
    meaning: 'Address of the private listener; `127.0.0.1` for this machine only',
  },
  OPS_PORT: {
    schema: is.wholeNumber(0, 65535),
    default: '8788',
    meaning: 'Port of the private listener: page, API and metrics; 0: any free port',
  },
  OPS_TOKEN: {
    schema: is.bearerToken,
    fromFile: true,
    meaning: 'Token of the private listener; required unless `OPS_HOST` is a loopback address',
  },
  LOG_LEVEL: {
    schema: is.logLevel,
    default: 'info',
    meaning: 'Log output: JSON, readable text on a terminal',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

/** What each variable holds once checked: `null` for an optional one that is unset. */
export type Values = {
  [Name in VariableName]:
    | z.output<(typeof VARIABLES)[Name]['schema']>
    | ((typeof VARIABLES)[Name] extends { required: true } | { default: string } ? never : null);
};

export const VARIABLE_NAMES = Object.keys(VARIABLES) as readonly VariableName[];

/** Names that may be set, the `_FILE` forms included. */
export const SETTABLE_NAMES: readonly string[] = VARIABLE_NAMES.flatMap((name) => {
  const variable: Variable = VARIABLES[name];
  return variable.fromFile === true ? [name, `${name}_FILE`] : [name];
});

export function remedyFor(name: VariableName): string {
  const { meaning, schema, fromFile }: Variable = VARIABLES[name];
  const file = fromFile === true ? ` Or name a file that holds it in ${name}_FILE.` : '';
  return is.plain(`${meaning}. Set it to ${schema.description}.${file}`);
}
