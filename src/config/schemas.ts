/** What a variable may hold: text in, a checked value out. */
import { isIP } from 'node:net';
import { Cron } from 'croner';
import { z } from 'zod';
import { Secret } from '../platform/secret.ts';

/**
 * @param what it accepts, in Markdown: for documents and messages.
 * @param parse gives undefined for a text that is refused.
 * @param shown `quoted` where the text is no secret and cannot contain one.
 */
function accepts<T>(what: string, parse: (text: string) => T | undefined, shown: 'quoted' | 'hidden') {
  return z
    .string()
    .transform((text, context): T => {
      const value = parse(text);
      if (value !== undefined) return value;
      const message = `is ${shown === 'quoted' ? `${JSON.stringify(text)}, ` : ''}not ${plain(what)}`;
      context.issues.push({ code: 'custom', message, input: undefined });
      return z.NEVER;
    })
    .describe(what);
}

/** Without the marks of Markdown. */
export function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}

const TEXT = 'a text of more than white space';
const filled = (text: string): string | undefined => (text.trim() === '' ? undefined : text);

export const plainText = accepts(TEXT, filled, 'hidden');
export const secret = accepts(
  TEXT,
  (text) => (filled(text) === undefined ? undefined : new Secret(text)),
  'hidden',
);

/** It has to fit in an `Authorization` header, and must not be guessable in an afternoon. */
export const bearerToken = accepts(
  '16 or more characters of printable ASCII, such as the output of `openssl rand -hex 32`',
  (text) => (/^[\x21-\x7e]{16,}$/.test(text) ? new Secret(text) : undefined),
  'hidden',
);

/** Without a final slash. */
export const baseUrl = accepts(
  'an http or https address without credentials, query and fragment',
  (text) =>
    /^https?:[^@?#]*$/i.test(text) && URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : undefined,
  'hidden',
);

export const host = accepts(
  'an IP address or a host name',
  (text) => (isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text) ? text : undefined),
  'quoted',
);

export function wholeNumber(least: number, most: number) {
  const parse = (text: string) =>
    /^[0-9]+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;
  return accepts(`a whole number from ${least} to ${most}`, parse, 'quoted');
}

/** Relative paths are resolved later, against the folder the process was started in. */
export const databaseFile = accepts(
  'the path of a file on a local disk',
  (text) => (/\0|^\s*$|^:memory:|^file:|[/\\]$|(^|\/)\.{1,2}$/i.test(text) ? undefined : text),
  'quoted',
);

/** A croner pattern, or null for `off`. */
export const schedule = accepts(
  'minute hour day month weekday, such as `*/15 * * * *`, or `off`',
  (text): string | null | undefined => {
    if (text.toLowerCase() === 'off') return null;
    try {
      const job = new Cron(text, { paused: true });
      // croner also accepts a date, which fires once, and patterns that never fire.
      return job.getPattern() === undefined || job.nextRun() === null ? undefined : text;
    } catch {
      return undefined;
    }
  },
  'quoted',
);

/** null: the name of a file for the C library, such as `:/etc/localtime`, which is left to the system. */
export const timeZone = accepts(
  'an IANA time zone such as `Asia/Bangkok` or `UTC`',
  (text): string | null | undefined => {
    if (/^[:/]/.test(text)) return null;
    try {
      return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
    } catch {
      return undefined;
    }
  },
  'quoted',
);

/** Names by id. */
export const warehouseNames = accepts(
  '`ID=NAME` with commas between several, such as `11=Bangkok,12=Chiang Mai`: each id once, of digits, each name of 1 to 60 characters',
  (text): ReadonlyMap<string, string> | undefined => {
    const names = new Map<string, string>();
    for (const entry of text.split(',')) {
      const [, id = '', name = ''] = /^\s*([0-9]{1,32})\s*=\s*(\P{Cc}{0,59}\S)\s*$/u.exec(entry) ?? [];
      if (name === '' || names.has(id) || /\p{Cc}/u.test(name) || !name.isWellFormed()) return undefined;
      names.set(id, name);
    }
    return names;
  },
  'quoted',
);

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const logLevel = accepts(
  `one of ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}`,
  (text) => LOG_LEVELS.find((level) => level === text),
  'quoted',
);
