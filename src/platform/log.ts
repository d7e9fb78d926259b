import { fstatSync } from 'node:fs';
import { pino, type DestinationStream, type LogFn, type Logger } from 'pino';
import sonic from 'sonic-boom';
import { readableLine } from './readable-log.ts';
import { visible } from './visible.ts';

export type { Logger } from 'pino';

/** @param output of the process; a thread sends its lines to the thread that has it. */
export function createLog(level: string, output: DestinationStream = openOutput(process.stdout)): Logger {
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
  return pino(options, output);
}

interface OutputOptions {
  /** null: text on a terminal, otherwise JSON. */
  readonly format?: 'text' | 'json' | null;
  /** Lines begin with their priority for systemd (sd-daemon(3)). */
  readonly isJournal?: boolean;
}

/** Takes lines of JSON. Have one for each descriptor: lines of two writers would mix. */
export function openOutput(
  stream: NodeJS.WriteStream,
  { format: asked = null, isJournal: isPrefixed = false }: OutputOptions = {},
): DestinationStream {
  const isText = (asked ?? (stream.isTTY ? 'text' : 'json')) === 'text';
  const shown = isText ? readableLine : (line: string): string => `${visible(line.trimEnd())}\n`;
  const format = isPrefixed ? (line: string): string => withPriority(line, shown(line)) : shown;
  const lines =
    'fd' in stream && typeof stream.fd === 'number'
      ? linesTo(stream.fd, (dropped) =>
          createLog('warn', output).warn(
            { lines: dropped },
            'the log output could not be written: lines were dropped',
          ),
        )
      : stream;
  const output: DestinationStream = { write: (line) => lines.write(format(line)) };
  return output;
}

/** Whether systemd connected this descriptor to its journal. @param stream device and inode. */
export function isJournal(fd: number, stream: string | null): boolean {
  if (stream === null) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

const PRIORITIES: Readonly<Record<string, number>> = { fatal: 2, error: 3, warn: 4, info: 6 };
const DEBUG_PRIORITY = 7;

/** @param shown one or more lines. */
function withPriority(json: string, shown: string): string {
  const { level } = JSON.parse(json) as { readonly level: string };
  return shown.replaceAll(/^(?=.)/gm, `<${PRIORITIES[level] ?? DEBUG_PRIORITY}>`);
}

/** A SqliteFault names file, fault and remedy, so its stack is omitted. */
function serializeError(error: Error): object {
  if (error.name !== 'SqliteFault') return pino.stdSerializers.err(error);
  return { type: error.name, message: error.message, ...('kind' in error && { kind: error.kind }) };
}

const LIMITED_EVERY_MS = 10_000;

/** Everything that needs a failed file fails: logs a fault once, and again every 10 s or when it is more severe. */
function repeatsOfFaults(): (fields: unknown, level: number) => boolean {
  let last = { message: '', level: 0, atMs: 0 };
  return (fields, level) => {
    const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : null;
    if (!(error instanceof Error) || error.name !== 'SqliteFault') return false;
    const { message } = error;
    const atMs = performance.now();
    if (message === last.message && level <= last.level && atMs - last.atMs < LIMITED_EVERY_MS) return true;
    last = { message, level, atMs };
    return false;
  };
}

/** @param write called at most every 10 s, with the calls since the last line by kind, and this call's context. */
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

/** Further lines are dropped while this much waits. */
const MAX_WAITING_BYTES = 1 << 20;
const RETRY_MS = 1_000;

/**
 * Writes log lines and never blocks, since a webhook's answer is due within a second while no one may read the pipe.
 * After a full disk or a closed pipe, lines wait until there is room. @param onDropped called with the number of lines
 * dropped, once there is room again.
 */
function linesTo(fd: number, onDropped: (lines: number) => void): DestinationStream {
  // `flush` does nothing without a `minLength`.
  const output = new sonic.SonicBoom({ fd, minLength: 1, maxLength: MAX_WAITING_BYTES });
  let dropped = 0;
  let retry: NodeJS.Timeout | null = null;
  output.on('error', () => {
    // A line that is dropped causes no further write.
    retry ??= setTimeout(() => {
      retry = null;
      output.flush();
    }, RETRY_MS).unref();
  });
  output.on('drop', () => (dropped += 1));
  output.on('drain', () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  });
  return output;
}
