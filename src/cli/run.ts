import { inspect } from 'node:util';
import { CommanderError, type Command } from 'commander';
import { ConfigError, formatConfigError } from '../config/error.ts';
import { sqliteCode, SqliteFault } from '../sqlite/errors.ts';
import { explained } from '../sqlite/explain.ts';
import { visible } from '../platform/visible.ts';
import { EXIT } from './shared/exit-codes.ts';

/** Lets a command finish although its output is closed or full. Call once, before anything is printed. */
export function tolerateClosedOutput(): void {
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` has closed the pipe: no failure.
    if (error.code === 'EPIPE' || isLost) return;
    isLost = true;
    process.stderr.write(`error: the standard output cannot be written: ${error.message}\n`);
  });
  process.stderr.on('error', () => undefined);
  process.once('exit', (code) => {
    if (isLost && code === EXIT.done) process.exitCode = EXIT.failed;
  });
}

/** Prints an error to stderr. @returns its exit code; undefined without an error: the command has set its own. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number | undefined> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    }
    if (error instanceof ConfigError) {
      process.stderr.write(`${formatConfigError(error)}\n`);
      return EXIT.usage;
    }
    process.stderr.write(`error: ${explainError(error)}\n`);
    return EXIT.failed;
  }
}

function explainError(error: unknown): string {
  if (error instanceof SqliteFault) return oneLine(error.message);
  const isExplained = error instanceof Error && error.cause instanceof SqliteFault;
  if (isExplained || sqliteCode(error) === null) return describeError(error);
  return oneLine(explained('the database', error).message);
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(typeof error === 'string' ? error : inspect(error));
  const cause = error.cause === undefined || error.cause === error ? '' : `: ${describeError(error.cause)}`;
  return `${oneLine(error.message || error.name)}${cause}`;
}

function oneLine(text: string): string {
  return visible(text.replace(/\s*\n\s*/g, ' '));
}
