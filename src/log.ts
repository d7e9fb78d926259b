/** The log: JSON on stdout, readable on a terminal. */
import { pino, type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

/** @param level a pino level. */
export function createLog(level: string, stream: NodeJS.WriteStream = process.stdout): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (!stream.isTTY) return pino(options, stream);
  return pino(
    options,
    pretty({
      destination: stream,
      sync: true,
      colorize: true,
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'pid,hostname',
    }),
  );
}
