/**
 * What one variable may hold: text in, a checked value out. Each message continues a sentence that begins with the
 * variable's name. A message quotes the value only where the value cannot be, or contain, a secret.
 */
import { isIP } from 'node:net';
import { Cron } from 'croner';
import { z } from 'zod';
import { Secret } from '../platform/secret.ts';

/** A `superRefine`-like step that parses: returns the value, or reports why there is none. */
function parsed<T>(parse: (text: string) => T | Fault) {
  return z.string().transform((text, context): T => {
    const result = parse(text);
    if (!(result instanceof Fault)) return result;
    context.issues.push({ code: 'custom', message: result.message, input: undefined });
    return z.NEVER;
  });
}

class Fault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

const quoted = (text: string) => JSON.stringify(text);

export const plainText = parsed((text) => (text.trim() === '' ? new Fault('is only white space') : text));

export const secret = parsed((text) =>
  text.trim() === '' ? new Fault('is only white space') : new Secret(text),
);

/** A bearer token has to fit in an `Authorization` header, and must not be guessable in an afternoon. */
export const bearerToken = parsed((text) => {
  if (!/^[\x21-\x7e]+$/.test(text)) return new Fault('holds characters other than printable ASCII');
  if (text.length < 16) return new Fault(`has ${String(text.length)} characters, fewer than 16`);
  return new Secret(text);
});

/**
 * The address that paths are appended to, without a final slash. The value is never quoted: an address with
 * credentials in it is exactly what is refused here.
 */
export const baseUrl = parsed((text) => {
  if (!/^https?:/i.test(text)) return new Fault('does not begin with http:// or https://');
  if (!URL.canParse(text)) return new Fault('is not a URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return new Fault('holds credentials');
  // Tested on the text: `new URL` drops a bare "?" or "#" from `search` and `hash`.
  if (text.includes('?')) return new Fault('has a query');
  if (text.includes('#')) return new Fault('has a fragment');
  return url.href.replace(/\/+$/, '');
});

export const host = parsed((text) => {
  if (isIP(text) !== 0) return text;
  if (/^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/.test(text))
    return text;
  return new Fault(`is ${quoted(text)}, neither an IP address nor a host name`);
});

export function wholeNumber(least: number, most: number) {
  return parsed((text) => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    return new Fault(`is ${quoted(text)}, not a whole number from ${String(least)} to ${String(most)}`);
  });
}

export function positiveNumber(most: number) {
  return parsed((text) => {
    const value = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : NaN;
    if (value > 0 && value <= most) return value;
    return new Fault(`is ${quoted(text)}, not a number above 0 and at most ${String(most)}`);
  });
}

/** A file name; relative ones are resolved later, against the folder the process was started in. */
export const databaseFile = parsed((text) => {
  if (text.trim() === '') return new Fault('is only white space');
  if (text.includes('\0')) return new Fault('holds a NUL character');
  if (text.startsWith(':memory:'))
    return new Fault('is ":memory:", and a mirror in memory would not outlive the process');
  if (/^file:/i.test(text)) return new Fault('is a file: URI, not a path');
  if (/[/\\]$|(^|\/)\.{1,2}$/.test(text)) return new Fault(`is ${quoted(text)}, a folder`);
  return text;
});

/** A croner pattern, or null for `off`. */
export const schedule = parsed((text): string | null | Fault => {
  if (text.toLowerCase() === 'off') return null;
  try {
    const job = new Cron(text, { paused: true });
    // croner also accepts a date, which fires once: that is no schedule.
    if (job.getPattern() === undefined) return new Fault(`is ${quoted(text)}, a date and not a pattern`);
    return job.nextRun() === null ? new Fault(`is ${quoted(text)}, a time that never comes`) : text;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return new Fault(`is ${quoted(text)}: ${reason}`);
  }
});

/**
 * An IANA zone name. A value that begins with ":" or "/" names a file for the C library (`:/etc/localtime`): valid,
 * but no zone name, so it is left to the system and the schedules follow local time.
 */
export const timeZone = parsed((text): string | null | Fault => {
  if (/^[:/]/.test(text)) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return new Fault(`is ${quoted(text)}, not a time zone known here`);
  }
});

/** A name is written beside figures in tables. */
const LONGEST_NAME = 60;

/** `11=Bangkok,12=Chiang Mai`: names by id. */
export const warehouseNames = parsed((text): ReadonlyMap<string, string> | Fault => {
  const names = new Map<string, string>();
  const entries = text.split(',');
  for (const [index, entry] of entries.entries()) {
    const which = `${quoted(entry.trim())} (entry ${String(index + 1)} of ${String(entries.length)})`;
    const [, id = '', name = ''] = /^([^=]*)=(.*)$/s.exec(entry)?.map((part) => part.trim()) ?? [];
    if (!entry.includes('=')) return new Fault(`has ${which}, which is not ID=NAME`);
    if (!/^[0-9]{1,32}$/.test(id)) return new Fault(`has ${which}, whose id is not 1 to 32 digits`);
    if (name === '') return new Fault(`has ${which}, which has no name`);
    if (name.length > LONGEST_NAME)
      return new Fault(`has ${which}, whose name is longer than ${String(LONGEST_NAME)} characters`);
    if (/\p{Cc}/u.test(name) || !name.isWellFormed())
      return new Fault(`has ${which}, whose name holds a control character`);
    if (names.has(id)) return new Fault(`has ${which}, which names warehouse ${id} a second time`);
    names.set(id, name);
  }
  return names;
});

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const logLevel = parsed((text): LogLevel | Fault => {
  return (
    LOG_LEVELS.find((level) => level === text) ??
    new Fault(`is ${quoted(text)}, not one of ${LOG_LEVELS.join(', ')}`)
  );
});
