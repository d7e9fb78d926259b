/** How an operator of this installation types a command: units, wrapper and compose file set STOCK_MIRROR_COMMAND. */

export type CommandOf = (command: string) => string;

/**
 * @param typed `stock-mirror` as it is typed here; null if unknown
 * @returns a function of commands such as `stock-mirror resync --product 5`.
 */
export function commandsOf(typed: string | null, entry = process.argv[1] ?? ''): CommandOf {
  const prefix = typed ?? (entry.endsWith('.ts') ? 'npm run stock-mirror --' : 'stock-mirror');
  return (command) => command.replace(/^stock-mirror(?= )/, () => prefix);
}

/** Replaces the commands between backticks in a remedy. */
export function withOwnCommands(remedy: string, commandOf: CommandOf): string {
  return remedy.replaceAll(/`(stock-mirror [^`]+)`/g, (_, command: string) => `\`${commandOf(command)}\``);
}
