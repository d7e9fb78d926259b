/** How an operator of this installation types a command (docs/operating.md). */
import { readFileSync } from 'node:fs';

export type CommandOf = (command: string) => string;

interface Installation {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The entry of the process. */
  readonly entry: string;
  /** The text of /proc/self/cgroup; empty without one. */
  readonly cgroup: string;
}

/** @returns a function of commands such as `stock-mirror resync --product 5`. */
export function commandsOf({ env, entry, cgroup }: Installation): CommandOf {
  const store = /\/stock-mirror(?:-receiver)?@([^/@]+)\.service/.exec(cgroup)?.[1];
  if (store !== undefined) {
    return (command) => command.replace(/^stock-mirror /, `stock-mirror-run ${store} `);
  }
  const script = env['npm_lifecycle_event'];
  const isClone = entry.endsWith('.ts') && script !== undefined && script !== 'npx';
  if (!isClone) return (command) => command;
  return (command) => {
    const [, verb = '', options = ''] = /^stock-mirror (\S+)(?: (.*))?$/.exec(command) ?? [];
    if (verb === '') return command;
    return options === '' ? `npm run ${verb}` : `npm run ${verb} -- ${options}`;
  };
}

export function commandsOfThisProcess(): CommandOf {
  let cgroup = '';
  try {
    cgroup = readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    // Another system than Linux has none.
  }
  return commandsOf({ env: process.env, entry: process.argv[1] ?? '', cgroup });
}

/** Replaces the commands between backticks in a remedy. */
export function withOwnCommands(remedy: string, commandOf: CommandOf): string {
  return remedy.replaceAll(/`(stock-mirror [^`]+)`/g, (_, command: string) => `\`${commandOf(command)}\``);
}
