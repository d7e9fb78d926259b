import type { Definition, Flag } from '../shared/definition.ts';

/** A script for bash 4 and newer, without the helpers of the package bash-completion. */
export function bashCompletion([program, ...verbs]: readonly [Definition, ...Definition[]]): string {
  const { name } = program;
  const words = (list: readonly string[]): string =>
    `COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$cur"))`;
  const names = (flags: readonly Flag[]): string[] => flags.flatMap((flag) => flag.names);
  const files = 'compopt -o default; return';

  const first = [...verbs.map((verb) => verb.name), 'help', ...names(program.flags)];
  const cases = verbs.map(({ name: verb, flags, takes }) => {
    const values = flags.flatMap((flag) => {
      if (flag.value === null) return [];
      const { kind, choices } = flag.value;
      const act = kind === 'choice' ? `${words(choices)}; return` : kind === 'file' ? files : 'return';
      return [`        ${flag.names.join(' | ')}) ${act} ;;`];
    });
    const [taken] = takes;
    const rest =
      taken?.kind === 'choice'
        ? words([...taken.choices, ...names(flags)])
        : taken?.kind === 'file'
          ? `if [[ $cur == -* ]]; then ${words(names(flags))}; else compopt -o default; fi`
          : words(names(flags));
    const before = values.length === 0 ? [] : ['      case $prev in', ...values, '      esac'];
    return [`    ${verb})`, ...before, `      ${rest}`, '      ;;'].join('\n');
  });
  return `# bash completion for ${name}, made by: ${name} completion bash
_${identifier(name)}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} verb='' i
  # Bash parts --flag=value at its equals sign.
  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then verb=\${COMP_WORDS[i]}; break; fi
  done
  COMPREPLY=()
  case $verb in
    '') ${words(first)} ;;
    help) ${words(verbs.map((verb) => verb.name))} ;;
${cases.join('\n')}
  esac
}
complete -F _${identifier(name)} ${name}
`;
}

const identifier = (name: string): string => name.replaceAll('-', '_');
