/** What a terminal shows after a program has printed all this: a board drawn again and again shows once. */

const ESCAPE = '\u001b';
/** Moving up so many lines, and erasing from here to the end: all that the demo asks of a terminal besides colours. */
const MOVE = new RegExp(`${ESCAPE}\\[(\\d+)A\\r${ESCAPE}\\[J`);

/** @param printed with line breaks and escape sequences. */
export function finalScreen(printed: string): readonly string[] {
  const [first = '', ...rest] = printed.replaceAll('\r\n', '\n').split(MOVE);
  let lines = first.split('\n');
  for (let at = 0; at + 1 < rest.length; at += 2) {
    // Behind the last line break stands the cursor, on a line of its own.
    lines = lines.slice(0, lines.length - 1 - Number(rest[at]));
    lines.push(...(rest[at + 1] ?? '').split('\n'));
  }
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
}
