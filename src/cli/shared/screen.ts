/** What a command prints that goes on: lines that stay, and below them on a terminal a board that is drawn anew in its place. */
import { stripVTControlCharacters } from 'node:util';

export interface Screen {
  /** Prints text that stays; it ends with a line break. */
  say(text: string): void;
  /** Shows these lines below everything else, in place of the last ones. */
  show(lines: readonly string[]): void;
  /** What the board shows stays; the next one comes below. */
  leave(): void;
}

/** Where nothing can be drawn anew. */
export function plainScreen(write: (text: string) => void): Screen {
  return { say: write, show: () => undefined, leave: () => undefined };
}

/** @param stream a terminal. */
export function terminalScreen(stream: Pick<NodeJS.WriteStream, 'write' | 'columns'>): Screen {
  let board: readonly string[] = [];
  let drawn = 0;
  // One write for all, so that nothing flickers.
  const erased = (): string => (drawn === 0 ? '' : `\u001B[${drawn}A\r\u001B[J`);
  const drawing = (): string => {
    drawn = board.length;
    return board.map((line) => `${fit(line, stream.columns)}\n`).join('');
  };
  return {
    say(text) {
      stream.write(`${erased()}${text}${drawing()}`);
    },
    show(lines) {
      const before = erased();
      board = lines;
      stream.write(`${before}${drawing()}`);
    },
    leave() {
      board = [];
      drawn = 0;
    },
  };
}

/** A board line must not wrap: then more lines would have to be erased than were written. */
function fit(line: string, columns: number): string {
  // A terminal without a size says 0.
  if (columns === 0) return line;
  const plain = stripVTControlCharacters(line);
  return plain.length < columns ? line : plain.slice(0, Math.max(0, columns - 1));
}
