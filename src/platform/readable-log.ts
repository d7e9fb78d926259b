import pc from 'picocolors';
import { visible } from './visible.ts';

const COLOURS: Readonly<Record<string, (text: string) => string>> = {
  warn: pc.yellow,
  error: pc.red,
  fatal: pc.red,
};

/** A line of the JSON log for a terminal: `14:03:11 WARN  message  key=value`, then an error's stack. */
export function readableLine(json: string): string {
  const { time, level, msg = '', err, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { stack, ...error } = (err ?? {}) as Readonly<Record<string, unknown>>;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const paint = COLOURS[String(level)] ?? pc.green;
  const pairs = Object.entries({ ...fields, ...error }).map(
    ([name, value]) => `${name}=${JSON.stringify(value)}`,
  );
  const parts = [
    pc.dim(clock),
    paint(String(level).toUpperCase().padEnd(5)),
    visible(String(msg)),
    pc.dim(visible(pairs.join(' '))),
  ];
  const lines = typeof stack === 'string' ? stack.split('\n').map(visible) : [];
  return [parts.join(' ').trimEnd(), ...lines].map((line) => `${line}\n`).join('');
}
