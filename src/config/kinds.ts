import { isIP } from 'node:net';
import { Cron } from 'croner';
import { WAREHOUSE_NAME, warehouseNameIn } from '../platform/warehouse-name.ts';
import { Secret } from '../platform/secret.ts';

export interface Kind<T> {
  /** Markdown, for documents and messages. */
  readonly accepts: string;
  /** undefined: refused. */
  readonly parse: (text: string) => T | undefined;
  /** `quoted`: a refused text holds no secret and may be shown. `secret`: the text may also come from a file. */
  readonly shown: 'quoted' | 'hidden' | 'secret';
}

function kind<T>(accepts: string, parse: Kind<T>['parse'], shown: Kind<T>['shown'] = 'quoted'): Kind<T> {
  return { accepts, parse, shown };
}

const FILLED = 'any text that is not blank';
export const plainText = kind(FILLED, (text) => (/\S/.test(text) ? text : undefined), 'hidden');
export const secret = kind(FILLED, (text) => (/\S/.test(text) ? new Secret(text) : undefined), 'secret');

/** Must fit in an `Authorization` header and resist guessing. */
export const bearerToken = kind(
  '16 or more printable ASCII characters (`openssl rand -hex 32`)',
  (text) => (/^[\x21-\x7e]{16,}$/.test(text) ? new Secret(text) : undefined),
  'secret',
);

export const baseUrl = kind(
  'an http or https address without credentials, query and fragment',
  (text) =>
    /^https?:[^@?#]*$/i.test(text) && URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : undefined,
  'hidden',
);

/** It may contain a token. */
export const secretUrl = kind(
  'an http or https address',
  (text) => (/^https?:/i.test(text) && URL.canParse(text) ? new Secret(text) : undefined),
  'secret',
);

export const streamUrls = kind(
  '`nats://HOST:PORT` or `tls://HOST:PORT`, with commas between servers of one cluster',
  (text): readonly string[] | undefined => {
    const urls = text.split(',').map((url) => url.trim());
    return urls.every((url) => /^(?:nats|tls):\/\/[^@/?#\s]+$/.test(url) && URL.canParse(url))
      ? urls
      : undefined;
  },
  'hidden',
);

/** A part of subjects and of names of streams. */
export const streamName = kind('1 to 64 letters, digits, `-` and `_`', (text) =>
  /^[\w-]{1,64}$/.test(text) ? text : undefined,
);

export const certificateFile = kind('the path of a PEM file', (text) =>
  /\0|^\s*$/.test(text) ? undefined : text,
);

export const host = kind('an IP address or a host name', (text) =>
  isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text) ? text : undefined,
);

export const wholeNumber = (least: number, most: number) =>
  kind(`a whole number from ${least} to ${most}`, (text) =>
    /^[0-9]+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
  );

export const databaseFile = kind('the path of a file on a local disk', (text) =>
  /\0|^\s*$|^:memory:|^file:|[/\\]$|(^|\/)\.{1,2}$/i.test(text) ? undefined : text,
);

/** A croner pattern, or null for `off`. */
export const schedule = kind('minute hour day month weekday, such as `*/15 * * * *`, or `off`', (text) => {
  if (text.toLowerCase() === 'off') return null;
  try {
    const job = new Cron(text, { paused: true, mode: '5-part' });
    // croner also accepts a date, which fires once, and patterns that never fire.
    return job.getPattern() === undefined || job.nextRun() === null ? undefined : text;
  } catch {
    return undefined;
  }
});

/** Of other texts, the system takes some for UTC, and some, such as `GMT+7`, for the opposite of what they seem to say. */
export const timeZone = kind('the name of a time zone, such as `Asia/Bangkok` or `UTC`', (text) => {
  try {
    // POSIX allows a colon in front of a name.
    const named = new Intl.DateTimeFormat('en', { timeZone: text.replace(/^:/, '') });
    return named.resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
});

export const warehouseNames = kind(
  '`ID=NAME` with commas between several, such as `11=Bangkok,12=Chiang Mai`: each id once, ' +
    `of digits, each name of ${WAREHOUSE_NAME}`,
  (text): ReadonlyMap<string, string> | undefined => {
    const names = new Map<string, string>();
    for (const entry of text.split(',')) {
      const [, id, text = ''] = /^\s*([0-9]+)\s*=(.*)$/su.exec(entry) ?? [];
      const name = warehouseNameIn(text);
      if (id === undefined || name === null || names.has(id)) return undefined;
      names.set(id, name);
    }
    return names;
  },
);

const oneOf = <const T extends string>(names: readonly T[]) =>
  kind(`one of ${names.map((name) => `\`${name}\``).join(', ')}`, (text) =>
    names.find((name) => name === text),
  );

export const role = oneOf(['both', 'receiver', 'mirror']);
export const logFormat = oneOf(['text', 'json']);
export const logLevel = oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);

export function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
