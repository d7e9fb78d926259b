/** One check and its result. */
import { visible } from '../../platform/visible.ts';
import { colours } from '../shared/colours.ts';

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do about it; null when nothing is wrong. */
  readonly remedy: string | null;
}

export const ok = (name: string, message: string): Check => ({ name, status: 'ok', message, remedy: null });

export const warn = (name: string, message: string, remedy: string): Check => ({
  ...{ name, status: 'warn', message, remedy },
});

export const fail = (name: string, message: string, remedy: string): Check => ({
  ...{ name, status: 'fail', message, remedy },
});

export function megabytes(bytes: number): string {
  return bytes >= 10e9 ? `${(bytes / 1e9).toFixed(0)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Its line for people. */
export function describeCheck({ name, status, message, remedy }: Check): string {
  const paint = { ok: colours.green, warn: colours.yellow, fail: colours.red }[status];
  return `${paint(status.padEnd(4))}  ${name.padEnd(16)}  ${visible(remedy === null ? message : `${message}: ${remedy}`)}\n`;
}
