/**
 * Reading a `.env` file. Node's own parser reads it, but silently skips what it cannot read and cuts an unquoted
 * value at the first `#`. A line lost that way would leave a setting at its default. So every ambiguous line is
 * reported, and every line that Node reads otherwise than it is written; by number only, since it may hold a secret.
 */
import { parseEnv } from 'node:util';
import { BYTE_ORDER_MARK } from './byte-order-mark.ts';

interface DotenvFault {
  /** Counted from 1. */
  readonly line: number;
  readonly problem: string;
}

interface Dotenv {
  readonly values: Readonly<Record<string, string>>;
  readonly faults: readonly DotenvFault[];
}

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[^\S\n]*(.*)$/;
const QUOTES = new Set(['"', "'", '`']);

export function parseDotenv(text: string): Dotenv {
  // A byte order mark, which some Windows editors write, would become part of the first name.
  const lines = text.replace(BYTE_ORDER_MARK, '').split(/\r?\n/);
  const { faults, written, assignments } = readLines(lines);
  for (const index of assignments) lines[index] = plain(lines[index] ?? '');
  const values = definedOnly(parseEnv(lines.join('\n')));
  for (const [name, { line, value }] of written) {
    const isRead = value === null ? name in values : values[name] === value;
    if (!isRead) faults.push({ line, problem: 'would not be read as it is written' });
  }
  return { values, faults: faults.toSorted((a, b) => a.line - b.line) };
}

/** The last assignment of a name. */
interface Written {
  readonly line: number;
  /** Null: in quotes. */
  readonly value: string | null;
}

function readLines(lines: readonly string[]) {
  const faults: DotenvFault[] = [];
  const written = new Map<string, Written>();
  /** The lines, from 0, where an assignment begins. */
  const assignments: number[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, value] = ASSIGNMENT.exec(line) ?? [];
    const at = index + 1;
    if (name === undefined || value === undefined) {
      faults.push({ line: at, problem: 'is not NAME=value' });
      continue;
    }
    assignments.push(index);
    if (QUOTES.has(value.charAt(0))) {
      const last = lastLineOfQuoted(lines, index, value);
      if (last?.clean === true) written.set(name, { line: at, value: null });
      if (last === undefined) faults.push({ line: at, problem: 'has a quote that is never closed' });
      else if (!last.clean)
        faults.push({ line: last.index + 1, problem: 'has text after the closing quote' });
      index = last?.index ?? index;
    } else if (line.replace(/\s#.*$/, '').includes('#')) {
      faults.push({
        line: at,
        problem: 'has a # inside a value without quotes, which would cut the value short',
      });
    } else {
      written.set(name, { line: at, value: value.replace(/(^|\s)#.*$/, '').trim() });
    }
  }
  return { faults, written, assignments };
}

/**
 * How Node's parser reads it: after a name followed by blanks only it takes the next line for the value, and it takes
 * `export` for a part of the name when a tab follows it or nothing follows the `=`.
 */
function plain(assignment: string): string {
  return assignment.replace(/^\s*export\s+/, '').replace(/^([^=]*=)\s+$/, '$1');
}

/** Where a quoted value that begins in `first` ends; it may span several lines. */
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
