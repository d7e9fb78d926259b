/** `stock-mirror completion SHELL`: a script that completes its commands, their flags and what these take. */
import { Argument, Command } from 'commander';
import { bashCompletion } from './completion/bash.ts';
import { fishCompletion } from './completion/fish.ts';
import { zshCompletion } from './completion/zsh.ts';
import { definitionOf, type Definition } from './shared/definition.ts';
import { explained } from './shared/explained.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** @param wholeProgram with every command, of which a start otherwise knows one. */
export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  const command = new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell that it is for').choices(Object.keys(SHELLS)))
    .action(async (shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](definitionsOf(await wholeProgram())));
    });
  return explained(command, {
    notes: `
It completes the commands, their flags, the values that a flag can have, and file names. It is made of the same definitions as
--help: after an update, make it anew.`,
    examples: [
      {
        what: 'bash, in this shell; in ~/.bashrc for all to come',
        run: 'source <(stock-mirror completion bash)',
      },
      {
        what: 'zsh, in this shell; in ~/.zshrc after compinit for all to come',
        run: 'source <(stock-mirror completion zsh)',
      },
      {
        what: 'fish, for all to come',
        run: 'stock-mirror completion fish > ~/.config/fish/completions/stock-mirror.fish',
      },
    ],
  });
}

function definitionsOf(program: Command): readonly [program: Definition, ...verbs: Definition[]] {
  return [definitionOf(program), ...program.commands.map(definitionOf)];
}
