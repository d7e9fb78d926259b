import { expect, test } from 'vitest';
import { plainScreen, terminalScreen, type Screen } from '../../../src/cli/shared/screen.ts';

const ESCAPE = '\u001b';
/** Moves up so many lines and erases to the end: the only control sequence of the board besides colours. */
const MOVE = new RegExp(`${ESCAPE}\\[(\\d+)A\\r${ESCAPE}\\[J`);

/** The lines that a terminal shows at the end. */
function finalScreen(printed: string): readonly string[] {
  const [first = '', ...rest] = printed.replaceAll('\r\n', '\n').split(MOVE);
  let lines = first.split('\n');
  for (let at = 0; at + 1 < rest.length; at += 2) {
    // The cursor is on a line of its own behind the last line break.
    lines = lines.slice(0, lines.length - 1 - Number(rest[at]));
    lines.push(...(rest[at + 1] ?? '').split('\n'));
  }
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
}

function atTerminal(columns = 80): { readonly screen: Screen; readonly seen: () => readonly string[] } {
  let printed = '';
  const screen = terminalScreen({ columns, write: (text: string) => ((printed += text), true) });
  return { screen, seen: () => finalScreen(printed) };
}

test('the board is drawn anew in its place, below what was said', () => {
  const { screen, seen } = atTerminal();
  screen.say('one\n');
  screen.show(['a 1', 'b 1']);
  screen.say('two\nthree\n');
  screen.show(['a 2', 'b 2', 'c 2']);
  screen.show(['a 3']);
  expect(seen()).toEqual(['one', 'two', 'three', 'a 3']);
});

test('a board that is left stays, and the next one comes below', () => {
  const { screen, seen } = atTerminal();
  screen.show(['a 1']);
  screen.leave();
  screen.say('the verdict\n');
  screen.show(['a 2']);
  screen.show(['a 3']);
  expect(seen()).toEqual(['a 1', 'the verdict', 'a 3']);
});

test('its lines never wrap; a terminal that does not know its size gets them whole', () => {
  const line = `\u001B[31m${'x'.repeat(30)}\u001B[39m`;
  const narrow = atTerminal(20);
  narrow.screen.show([line]);
  expect(narrow.seen()).toEqual(['x'.repeat(19)]);
  const wide = atTerminal(31);
  wide.screen.show([line]);
  expect(wide.seen()).toEqual([line]);
  const unknown = atTerminal(0);
  unknown.screen.show([line]);
  expect(unknown.seen()).toEqual([line]);
});

test('elsewhere there is no board', () => {
  let printed = '';
  const screen = plainScreen((text) => (printed += text));
  screen.say('one\n');
  screen.show(['a 1']);
  screen.leave();
  screen.say('two\n');
  expect(printed).toBe('one\ntwo\n');
});
