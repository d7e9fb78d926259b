/** The log output: JSON on stdout, readable on a terminal. */
import { createRequire } from 'node:module';
import { pino, type DestinationStream, type LogFn, type Logger } from 'pino';
import type pretty from 'pino-pretty';
import sonic from 'sonic-boom';
import { visible } from './visible.ts';

export type { Logger } from 'pino';

/** @param level a pino level. */
export function createLog(level: string, stream: NodeJS.WriteStream = process.stdout): Logger {
  const isRepeated = repeatsOfFaults();
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: serializeError },
    hooks: {
      logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, levelNumber: number) {
        const [fields] = args as readonly unknown[];
        if (!isRepeated(fields, levelNumber)) method.apply(this, args);
      },
    },
  };
  const output: DestinationStream =
    'fd' in stream && typeof stream.fd === 'number'
      ? linesTo(stream.fd, (lines) => log.warn({ lines }, 'the log output was not read: lines were dropped'))
      : stream;
  const log = pino(options, stream.isTTY ? readable(output) : escaped(output));
  return log;
}

/** A StoreError names file, fault and remedy: its stack says no more. */
function serializeError(error: Error): object {
  if (error.name !== 'StoreError') return pino.stdSerializers.err(error);
  return { type: error.name, message: error.message, ...('kind' in error && { kind: error.kind }) };
}

/** For a person who reads the file at a terminal; JSON gives the same text to programs. */
function escaped(output: DestinationStream): DestinationStream {
  return { write: (line) => output.write(`${visible(line.trimEnd())}\n`) };
}

function readable(output: DestinationStream): DestinationStream {
  // For people alone: a mirror that runs as a service need not load it.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  const prettify = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss' });
  const shown = (key: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    return key === 'stack' ? value.split('\n').map(visible).join('\n') : visible(value);
  };
  return { write: (line) => output.write(prettify(JSON.parse(line, shown))) };
}

const LIMITED_EVERY_MS = 10_000;

/**
 * When a database file fails, all that need it fail: the fault is logged once, and further lines about it at most every
 * 10 s, unless they are graver.
 */
function repeatsOfFaults(): (fields: unknown, level: number) => boolean {
  let last = { message: '', level: 0, atMs: 0 };
  return (fields, level) => {
    const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : null;
    if (!(error instanceof Error) || error.name !== 'StoreError') return false;
    const { message } = error;
    const atMs = performance.now();
    if (message === last.message && level <= last.level && atMs - last.atMs < LIMITED_EVERY_MS) return true;
    last = { message, level, atMs };
    return false;
  };
}

/**
 * Limits lines that others can cause in any number.
 *
 * @param write called at most every 10 s, with the calls since the last line by kind, and the context of this call.
 */
export function createLimitedLog(write: (fields: object) => void): (kind: string, context?: object) => void {
  let counts: Record<string, number> = {};
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return (kind, context) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
    const nowMs = performance.now();
    if (nowMs - writtenAtMs < LIMITED_EVERY_MS) return;
    writtenAtMs = nowMs;
    write({ ...counts, ...context });
    counts = {};
  };
}

/** Output that waits while it cannot be written; further lines are dropped. */
const MAX_WAITING_BYTES = 1 << 20;

/**
 * Log lines on their way to a descriptor. Logging never waits: the terminal or the reader behind a pipe may have stopped
 * reading, and a webhook's answer is due within the second. It never ends anything either: a full disk or a closed pipe
 * holds the lines back until there is room again.
 *
 * @param onDropped called with the number of lines dropped, once there is room again.
 */
function linesTo(fd: number, onDropped: (lines: number) => void): DestinationStream {
  const output = new sonic.SonicBoom({ fd, maxLength: MAX_WAITING_BYTES });
  let dropped = 0;
  output.on('error', () => undefined);
  output.on('drop', () => (dropped += 1));
  output.on('drain', () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  });
  return output;
}
