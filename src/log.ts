/** The log: JSON on stdout, readable on a terminal. */
import { pino, type DestinationStream, type Logger } from 'pino';
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
  if (!stream.isTTY) return pino(options, lines(stream));
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

/** Lines that wait while they cannot be written; what comes beyond is dropped. */
const WAITING_CHARACTERS = 1 << 20;

/**
 * A stream of Node's ends the process, or itself, at the first line that a full disk or a closed pipe refuses. The
 * service outlives that: it goes on without the lines, and with them once there is room again.
 */
function lines(stream: NodeJS.WriteStream): DestinationStream {
  if (!('fd' in stream) || typeof stream.fd !== 'number') return stream;
  const written = pino.destination({ fd: stream.fd, sync: true, maxLength: WAITING_CHARACTERS });
  written.on('error', () => undefined);
  return written;
}
