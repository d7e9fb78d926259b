import type { Definition, Flag } from '../shared/definition.ts';

/** A script for the completion system of zsh: to be sourced, or put into a folder of `fpath` as `_stock-mirror`. */
export function zshCompletion([program, ...verbs]: readonly [Definition, ...Definition[]]): string {
  const { name } = program;
  const all = (list: readonly Definition[]): string =>
    list.map((verb) => `    ${quoted(`${verb.name}:${verb.summary}`)}`).join('\n');
  const cases = verbs.map(({ name: verb, flags, takes }) => {
    const specs = flags.flatMap(specsOf);
    for (const { kind, choices, shown } of takes) {
      specs.push(quoted(`:${shown.slice(1, -1)}:${actionOf({ kind, choices })}`));
    }
    return `        ${verb}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef ${name}
# zsh completion for ${name}, made by: ${name} completion zsh
_${name}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a verbs
  verbs=(
${all(verbs)}
    'help:display help for command'
  )
  _arguments -C ${program.flags.flatMap(specsOf).join(' ')} '1: :->verb' '*:: :->rest'
  case $state in
    verb) _describe -t commands command verbs ;;
    rest)
      case $words[1] in
        help) _describe -t commands command verbs ;;
${cases.join('\n')}
      esac
      ;;
  esac
}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function specsOf({ names, value, description }: Flag): string[] {
  const said = `[${description.replaceAll(/[[\]\\]/g, '\\$&')}]`;
  const taken = value === null ? '' : `:${value.shown.slice(1, -1)}:${actionOf(value)}`;
  const repeated = value?.isVariadic === true ? '*' : '';
  return names.map((each) => quoted(`${repeated}${each}${said}${taken}`));
}

function actionOf({ kind, choices }: Pick<NonNullable<Flag['value']>, 'kind' | 'choices'>): string {
  return kind === 'choice' ? `(${choices.join(' ')})` : kind === 'file' ? '_files' : ' ';
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
