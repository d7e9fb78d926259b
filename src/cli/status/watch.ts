/** `status --watch`: a look every two seconds, until Ctrl-C. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Help } from 'commander';
import { describeError } from '../run.ts';
import { colours } from '../shared/colours.ts';
import { terminalScreen } from '../shared/screen.ts';

/** One look, as it is shown. */
interface Look {
  /** For a terminal. */
  readonly text: string;
  /** For a pipe: no line break in it. */
  readonly line: string;
}

const LOOK_EVERY_MS = 2_000;

/** A look that fails, as while the mirror starts anew, is shown as such, and the next one follows. */
export async function watchStatus(look: () => Promise<Look>, interrupted: AbortSignal): Promise<void> {
  const stream = process.stdout;
  const show = stream.isTTY ? redraw(stream) : ({ line }: Look) => void stream.write(`${line}\n`);
  while (!interrupted.aborted && !stream.destroyed) {
    show(await look().catch(failed));
    await sleep(LOOK_EVERY_MS, null, { signal: interrupted }).catch(() => null);
  }
}

function failed(error: unknown): Look {
  const line = `${clock()}  error: ${describeError(error)}`;
  return { text: `${colours.red('error')}: ${describeError(error)}\n`, line };
}

/** The time of day, as a line of a watch begins. */
export function clock(): string {
  return new Date().toLocaleTimeString('en-GB');
}

function redraw(stream: NodeJS.WriteStream): (look: Look) => void {
  const screen = terminalScreen(stream);
  const help = new Help();
  return ({ text }) => {
    // A terminal without a size says 0.
    const columns = stream.columns || 80;
    const rows = stream.rows || 24;
    const said = `${text}${colours.dim(`at ${clock()}, every ${LOOK_EVERY_MS / 1_000} s; Ctrl-C ends it`)}`;
    const lines = said.split('\n').flatMap((line) => help.boxWrap(line, columns - 1).split('\n'));
    // What has scrolled out of sight could not be drawn anew.
    screen.show(lines.length < rows ? lines : [...lines.slice(0, rows - 2), '…']);
  };
}
