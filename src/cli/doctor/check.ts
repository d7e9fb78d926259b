import { visible } from '../../platform/visible.ts';
import { colours } from '../shared/colours.ts';

export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** null if none is needed, or if the message contains it. */
  readonly remedy: string | null;
}

export interface Check extends Finding {
  readonly name: string;
}

export const ok = (message: string): Finding => ({ status: 'ok', message, remedy: null });
export const warn = (message: string, remedy: string): Finding => ({ status: 'warn', message, remedy });
export const fail = (message: string, remedy: string | null): Finding => ({
  status: 'fail',
  message,
  remedy,
});

export function describeCheck({ name, status, message, remedy }: Check): string {
  const paint = { ok: colours.green, warn: colours.yellow, fail: colours.red }[status];
  const text = remedy === null ? message : `${message}${message.endsWith('.') ? '' : ':'} ${remedy}`;
  return `${paint(status.padEnd(4))}  ${name.padEnd(16)}  ${visible(text)}\n`;
}
