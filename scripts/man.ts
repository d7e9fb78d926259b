/**
 * The man page, made of the commands' own definitions: `npm run man` writes man/stock-mirror.1, which goes into the
 * package. A test holds it equal to what this makes.
 */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { definitionOf, type Definition, type Flag } from '../src/cli/shared/definition.ts';
import { explanationOf, paragraphsOf } from '../src/cli/shared/explained.ts';
import { wholeProgram } from '../src/cli/verbs.ts';
import { VARIABLES, VARIABLE_NAMES, type Variable } from '../src/config/variables.ts';

export const MAN_PAGE = new URL('../man/stock-mirror.1', import.meta.url);

/** No date in it: the same definitions give the same page. */
export async function manPage(): Promise<string> {
  const program = await wholeProgram();
  const { name, summary } = definitionOf(program);
  const lines = [
    `.\\" Made by \`npm run man\` from the definitions of the commands: do not edit.`,
    `.TH ${name.toUpperCase()} 1 "" "${name} ${manifest.version}" "User Commands"`,
    '.SH NAME',
    `${text(name)} \\- ${text(summary.replace(/\.$/, '').replace(/^K/, 'k'))}`,
    '.SH SYNOPSIS',
    `.B ${text(name)}`,
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    ...explained(program),
    '.SH COMMANDS',
    ...program.commands.flatMap(describe),
    '.SH ENVIRONMENT',
    'Variables may also stand in a file .env in the folder that the command is started in; the environment wins.',
    ...VARIABLE_NAMES.flatMap((variable) => describeVariable(variable, VARIABLES[variable])),
    '.SH SEE ALSO',
    text(`${manifest.homepage}: operating, configuration, reading the mirror, HTTP API, troubleshooting.`),
  ];
  return `${lines.join('\n')}\n`;
}

function describe(command: Command): string[] {
  const definition = definitionOf(command);
  const { name, summary, takes, flags } = definition;
  return [
    `.SS ${text(name)}`,
    `.B ${text(usageOf(definition))}`,
    '.PP',
    text(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`),
    ...takes.flatMap(({ shown, description }) => ['.TP', `.I ${text(shown)}`, text(description)]),
    ...flags.filter(({ names }) => !names.includes('--help')).flatMap(describeFlag),
    ...explained(command),
  ];
}

function usageOf({ name, takes }: Definition): string {
  return ['stock-mirror', name, ...takes.map(({ shown }) => shown), '[options]'].join(' ');
}

function describeFlag({ names, value, description, byDefault }: Flag): string[] {
  const called = names.map((name) => `\\fB${text(name)}\\fR`).join(', ');
  const taken = value === null ? '' : ` \\fI${text(value.shown)}\\fR`;
  const also = byDefault === null || byDefault === '' ? '' : ` (default: ${byDefault})`;
  return ['.TP', `${called}${taken}`, text(`${description}${also}`)];
}

function explained(command: Command): string[] {
  const explanation = explanationOf(command);
  if (explanation === null) return [];
  const paragraphs = paragraphsOf(explanation).flatMap((paragraph) => ['.PP', text(paragraph)]);
  const examples = explanation.examples.flatMap(({ what, run }) => [text(`# ${what}`), text(run)]);
  return [...paragraphs, '.PP', 'Examples:', '.PP', '.RS 4', '.nf', ...examples, '.fi', '.RE'];
}

function describeVariable(
  name: string,
  { remedy, default: byDefault, required, fromFile }: Variable,
): string[] {
  const marks = [
    ...(required === true ? ['required'] : []),
    ...(byDefault === undefined ? [] : [`default: ${byDefault}`]),
    ...(fromFile === true ? [`or ${name}_FILE`] : []),
  ];
  const said = marks.length === 0 ? '' : ` (${marks.join('; ')})`;
  return ['.TP', `.B ${text(name)}`, text(`${remedy}${said}`)];
}

/** For roff: what it would read as a request or an escape stays text, and a hyphen stays one that can be copied. */
function text(plain: string): string {
  return plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', '\\(cq')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
    .replaceAll('…', '...')
    .replace(/^\./, '\\&.');
}

if (import.meta.main) writeFileSync(MAN_PAGE, await manPage());
