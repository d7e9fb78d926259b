import type { Definition, Flag } from '../shared/definition.ts';

export function fishCompletion([program, ...verbs]: readonly [Definition, ...Definition[]]): string {
  const { name } = program;
  const lines = [
    `# fish completion for ${name}, made by: ${name} completion fish`,
    // File names only where a file is taken.
    `complete -c ${name} -f`,
    ...program.flags.map((flag) => complete(name, '__fish_use_subcommand', flagOf(flag))),
    ...verbs.map((verb) =>
      complete(name, '__fish_use_subcommand', `-a ${verb.name} -d ${quoted(verb.summary)}`),
    ),
    complete(name, '__fish_use_subcommand', `-a help -d ${quoted('display help for command')}`),
    complete(
      name,
      '__fish_seen_subcommand_from help',
      `-a ${quoted(verbs.map((verb) => verb.name).join(' '))}`,
    ),
  ];
  for (const verb of verbs) {
    const when = `__fish_seen_subcommand_from ${verb.name}`;
    for (const flag of verb.flags) lines.push(complete(name, when, flagOf(flag)));
    for (const { kind, choices } of verb.takes) {
      if (kind === 'choice') lines.push(complete(name, when, `-a ${quoted(choices.join(' '))}`));
      if (kind === 'file') lines.push(complete(name, when, '-F'));
    }
  }
  return `${lines.join('\n')}\n`;
}

const complete = (name: string, when: string, rest: string): string =>
  `complete -c ${name} -n ${quoted(when)} ${rest}`;

function flagOf({ names, value, description }: Flag): string {
  const switches = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const taken =
    value === null
      ? []
      : value.kind === 'choice'
        ? [`-x -a ${quoted(value.choices.join(' '))}`]
        : [value.kind === 'file' ? '-r -F' : '-x'];
  return [...switches, ...taken, `-d ${quoted(description)}`].join(' ');
}

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
