/** The log output: JSON on stdout, readable on a terminal. */
import { write } from 'node:fs';
import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import type pretty from 'pino-pretty';
import { visible } from './visible.ts';

export type { Logger } from 'pino';

/** @param level a pino level. */
export function createLog(level: string, stream: NodeJS.WriteStream = process.stdout): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const output: DestinationStream =
    'fd' in stream && typeof stream.fd === 'number'
      ? linesTo(stream.fd, (lines) => log.warn({ lines }, 'the log output was not read: lines were dropped'))
      : stream;
  const log = pino(options, stream.isTTY ? readable(output) : escaped(output));
  return log;
}

/** For a person who reads the file at a terminal; JSON gives the same text to programs. */
function escaped(output: DestinationStream): DestinationStream {
  return { write: (line) => output.write(`${visible(line.trimEnd())}\n`) };
}

function readable(output: DestinationStream): DestinationStream {
  // For people alone: a mirror that runs as a service need not load it.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  const prettify = prettyFactory({
    colorize: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
  });
  const shown = (key: string, value: unknown): unknown =>
    typeof value !== 'string'
      ? value
      : key === 'stack'
        ? value.split('\n').map(visible).join('\n')
        : visible(value);
  return { write: (line) => output.write(prettify(JSON.parse(line, shown))) };
}

const LIMITED_EVERY_MS = 10_000;

/**
 * Limits lines that others can cause in any number.
 *
 * @param write called at most every 10 s, with the calls since the last line by kind, and the context of this call.
 */
export function createLimitedLog(
  write: (counts: Readonly<Record<string, number>>, context: object) => void,
): (kind: string, context?: object) => void {
  let counts = new Map<string, number>();
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return (kind, context = {}) => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const nowMs = performance.now();
    if (nowMs - writtenAtMs < LIMITED_EVERY_MS) return;
    writtenAtMs = nowMs;
    write(Object.fromEntries(counts), context);
    counts = new Map();
  };
}

/** Lines that wait while they cannot be written; further ones are dropped. */
const MAX_WAITING_CHARACTERS = 1 << 20;
const RETRY_MS = 50;

/**
 * Log lines on their way to a descriptor. Logging never waits: the terminal or the reader behind a pipe may have stopped
 * reading, and a webhook's answer is due within the second. It never ends anything either: a full disk or a closed pipe
 * loses the lines that it refuses, and gets the next ones once there is room again.
 *
 * @param onDropped called with the number of lines dropped, once there is room again.
 */
function linesTo(fd: number, onDropped: (lines: number) => void): DestinationStream {
  let waiting: string[] = [];
  let characters = 0;
  let dropped = 0;
  let isWriting = false;

  const next = (): void => {
    isWriting = waiting.length > 0;
    if (!isWriting) return;
    const bytes = Buffer.from(waiting.join(''));
    const lines = dropped;
    waiting = [];
    characters = 0;
    dropped = 0;
    if (lines > 0) onDropped(lines);
    put(bytes);
  };
  const put = (bytes: Buffer): void =>
    write(fd, bytes, (error, written) => {
      if (error === null && written < bytes.length) put(bytes.subarray(written));
      else if (error?.code === 'EAGAIN') setTimeout(() => put(bytes), RETRY_MS);
      else next();
    });

  return {
    write(line: string): void {
      if (characters + line.length > MAX_WAITING_CHARACTERS) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      characters += line.length;
      if (!isWriting) next();
    },
  };
}
