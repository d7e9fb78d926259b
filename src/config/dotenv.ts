/**
 * Reading a `.env` file. Node's own parser does the reading; it also skips what it cannot read and cuts an unquoted
 * value at the first `#`, both in silence. A line lost that way would leave a setting at its default, so the text is
 * checked first and every doubtful line is named, by number only: the line may hold a secret.
 */
import { parseEnv } from 'node:util';

export interface DotenvFault {
  /** Counted from 1. */
  readonly line: number;
  readonly problem: string;
}

export interface Dotenv {
  readonly values: Readonly<Record<string, string>>;
  readonly faults: readonly DotenvFault[];
}

const ASSIGNMENT = /^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=[^\S\n]*(.*)$/;
const QUOTES = new Set(['"', "'", '`']);

export function parseDotenv(text: string): Dotenv {
  // A byte order mark, which some Windows editors write, would become part of the first name.
  const body = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  return { values: definedOnly(parseEnv(body)), faults: findFaults(body.split('\n')) };
}

function findFaults(lines: readonly string[]): DotenvFault[] {
  const faults: DotenvFault[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    const value = ASSIGNMENT.exec(line)?.[1];
    const at = index + 1;
    if (value === undefined) {
      faults.push({ line: at, problem: 'is not NAME=value' });
    } else if (QUOTES.has(value.charAt(0))) {
      const last = lastLineOfQuoted(lines, index, value);
      if (last === undefined) faults.push({ line: at, problem: 'has a quote that is never closed' });
      else if (!last.clean)
        faults.push({ line: last.index + 1, problem: 'has text after the closing quote' });
      index = last?.index ?? index;
    } else if (line.replace(/\s#.*$/, '').includes('#')) {
      faults.push({
        line: at,
        problem: 'has a # inside a value without quotes, which would cut the value short',
      });
    }
  }
  return faults;
}

/** Where a quoted value that begins in `first` ends; a value in quotes may run over several lines. */
function lastLineOfQuoted(lines: readonly string[], start: number, first: string) {
  const quote = first.charAt(0);
  let rest = first.slice(1);
  for (let index = start; index < lines.length; index += 1, rest = lines[index] ?? '') {
    const end = rest.indexOf(quote);
    if (end >= 0) return { index, clean: /^\s*(#.*)?$/.test(rest.slice(end + 1)) };
  }
  return undefined;
}

function definedOnly(values: NodeJS.Dict<string>): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) defined[name] = value;
  }
  return defined;
}
