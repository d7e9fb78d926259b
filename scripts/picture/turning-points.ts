/** The lines of a demo that tell its story: a picture has no room for all of them. */
import { stripVTControlCharacters } from 'node:util';

/** How many lines of one kind (`lost`, `gap`, …) are shown. */
const PER_KIND = 1;
const ELLIPSIS = '         …';
const LONGEST = 128;

/**
 * @param printed all that the demo printed, line by line, with colours.
 * @returns the same lines in their order, without repetition: where some are left out, one line has an ellipsis.
 */
export function turningPoints(printed: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  const kept: string[] = [];
  for (const line of printed.map((each) => each.trimEnd())) {
    const kind = kindOf(line);
    const times = (seen.get(kind ?? '') ?? 0) + 1;
    if (kind !== null) seen.set(kind, times);
    if (kind === null || times <= PER_KIND) kept.push(shortened(line));
    else if (kept.at(-1) !== ELLIPSIS) kept.push(ELLIPSIS);
  }
  while (kept.at(-1) === '') kept.pop();
  return kept;
}

/** The word that a line of an event begins with, after its time; null for any other line. */
function kindOf(line: string): string | null {
  const text = stripVTControlCharacters(line);
  if (/^ *[\d.]+ s {2}\d+ webhooks sent/.test(text)) return 'summary';
  return /^ *[\d.]+ s {2}([a-z]+) {2,}/.exec(text)?.[1] ?? null;
}

function shortened(line: string): string {
  const text = stripVTControlCharacters(line);
  if (text.length <= LONGEST) return line;
  // From the end, so that the colours at the beginning stay whole.
  return `${line.slice(0, line.length - (text.length - LONGEST + 1))}…`;
}
