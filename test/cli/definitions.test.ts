/** What is made of the commands' definitions besides `--help`. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAN_PAGE, manPage } from '../../scripts/man.ts';
import { runProgram } from '../../src/cli/run.ts';
import { explanationOf } from '../../src/cli/shared/explained.ts';
import { wholeProgram } from '../../src/cli/verbs.ts';
import { present } from '../shared/present.ts';

const all = await wholeProgram();
const examples = [all, ...all.commands].map((command) => ({
  name: command.name(),
  runs: explanationOf(command)?.examples.map(({ run }) => run) ?? [],
}));

test.each(examples)('$name has examples, in its --help', ({ name, runs }) => {
  expect(runs).not.toEqual([]);
  let help = '';
  const command = present([all, ...all.commands].find((each) => each.name() === name));
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  for (const run of runs) expect(help).toContain(`\n  ${run}\n`);
});

/** What a shell would hand to the program: up to a pipe or a redirection, without the quotes. */
function wordsOf(run: string): string[] {
  const [, typed = ''] = /(?:^|\s|\()stock-mirror\s([^|>)]*)/.exec(run) ?? [];
  return (typed.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
}

test.each(examples.flatMap(({ runs }) => runs))('%s is what the command takes', async (run) => {
  const program = await wholeProgram();
  let reached = 0;
  for (const command of program.commands) command.action(() => void (reached += 1));
  expect(await runProgram(program, wordsOf(run))).toBeUndefined();
  expect(reached).toBe(1);
});

test('the man page in the package is that of these definitions: `npm run man` makes it anew', async () => {
  expect(readFileSync(MAN_PAGE, 'utf8')).toBe(await manPage());
});

test('the man page has every command, flag and variable', async () => {
  const page = (await manPage()).replaceAll('\\-', '-');
  for (const command of all.commands) {
    expect(page).toContain(`\n.SS ${command.name()}\n`);
    for (const { long } of command.options) expect(page).toContain(`\\fB${long}\\fR`);
  }
  expect(page).toContain('\n.B SERVICE_WEBHOOK_SECRET\n');
});
