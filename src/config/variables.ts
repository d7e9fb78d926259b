/** The variables of the contract, each with the values it accepts and what to do about any other. */
import type { z } from 'zod';
import {
  baseUrl,
  bearerToken,
  databaseFile,
  host,
  logLevel,
  plainText,
  positiveNumber,
  schedule,
  secret,
  timeZone,
  warehouseNames,
  wholeNumber,
} from './schemas.ts';

interface Presence {
  /** The text used when the variable is unset. */
  readonly default?: string;
  /** Whether an unset variable is an error. If not, and without a default, unset is `null`. */
  readonly required?: true;
}

export interface Variable extends Presence {
  readonly schema: z.ZodType<unknown, string>;
  readonly remedy: string;
  /** The value may also come from the file that `<NAME>_FILE` names. */
  readonly fromFile?: true;
}

const SCHEDULE_REMEDY =
  'Use a pattern of five fields such as "*/15 * * * *" (minute hour day month weekday), or off.';
const HOST_REMEDY = 'Use an address of this machine: 127.0.0.1 for itself only, 0.0.0.0 for every interface.';

export const VARIABLES = {
  SERVICE_BASE_URL: {
    schema: baseUrl,
    required: true,
    remedy: "Set it to the base address of the store's API, such as https://store.example.",
  },
  SERVICE_CLIENT_ID: {
    schema: plainText,
    required: true,
    remedy: 'Set it to the OAuth client id of your app.',
  },
  SERVICE_CLIENT_SECRET: {
    schema: secret,
    required: true,
    fromFile: true,
    remedy:
      'Set it to the OAuth client secret of your app, or name a file with it in SERVICE_CLIENT_SECRET_FILE.',
  },
  SERVICE_WEBHOOK_SECRET: {
    schema: secret,
    required: true,
    fromFile: true,
    remedy:
      'Set it to the key of the webhook signature, or name a file with it in SERVICE_WEBHOOK_SECRET_FILE.',
  },
  SERVICE_WEBHOOK_SECRET_PREVIOUS: {
    schema: secret,
    fromFile: true,
    remedy: 'Set it to the key that is being replaced, or leave it unset.',
  },
  DATABASE_PATH: {
    schema: databaseFile,
    default: './data/stock-mirror.db',
    remedy: 'Set it to the path of the database file; its folder is created.',
  },
  HOST: { schema: host, default: '127.0.0.1', remedy: HOST_REMEDY },
  PORT: {
    schema: wholeNumber(0, 65535),
    default: '8787',
    remedy: 'Use a free port; 0 lets the system choose.',
  },
  OPS_HOST: { schema: host, default: '127.0.0.1', remedy: HOST_REMEDY },
  OPS_PORT: {
    schema: wholeNumber(0, 65535),
    default: '8788',
    remedy: 'Use a free port; 0 lets the system choose.',
  },
  OPS_TOKEN: {
    schema: bearerToken,
    fromFile: true,
    remedy: 'Set it to a long random text, for example the output of `openssl rand -hex 32`.',
  },
  RECONCILE_CRON: { schema: schedule, default: '*/15 * * * *', remedy: SCHEDULE_REMEDY },
  RECONCILE_READS_PER_HOUR: {
    schema: wholeNumber(0, 1_000_000),
    default: '600',
    remedy: 'Set how many products RECONCILE_CRON may read in an hour while no loss is proven.',
  },
  RECONCILE_MAX_AGE_HOURS: {
    schema: wholeNumber(1, 8760),
    default: '168',
    remedy: 'Set after how many hours every product is read again, whatever is expected of it.',
  },
  RESYNC_CRON: { schema: schedule, default: '0 3 * * *', remedy: SCHEDULE_REMEDY },
  TZ: { schema: timeZone, remedy: 'Use a name such as Asia/Bangkok or UTC, or leave it unset.' },
  SERVICE_MAX_CONCURRENCY: {
    schema: wholeNumber(1, 256),
    default: '8',
    remedy: 'Set how many reads may be in flight at once.',
  },
  SERVICE_MAX_RPS: {
    schema: positiveNumber(10_000),
    default: '50',
    remedy: 'Set how many requests per second may be sent to the store.',
  },
  RETENTION_DAYS: {
    schema: wholeNumber(1, 3650),
    default: '30',
    remedy: 'Set how many days raw deliveries and changes are kept.',
  },
  WAREHOUSE_NAMES: {
    schema: warehouseNames,
    remedy:
      'Write the id and the name of each warehouse, with commas between them: 11=Bangkok,12=Chiang Mai. A name has no comma.',
  },
  LOG_LEVEL: {
    schema: logLevel,
    default: 'info',
    remedy: 'Use info for daily work, debug to look into a problem.',
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
