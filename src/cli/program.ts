import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { explained } from './shared/explained.ts';

/**
 * The `stock-mirror` command with its verbs. Nothing in it ends the process: usage errors, `--help` and `--version`
 * come out of `parseAsync` as a `CommanderError` for `runProgram` to turn into an exit code.
 */
export function createProgram(verbs: readonly Command[]): Command {
  const program = new Command('stock-mirror')
    .description(manifest.description)
    .version(manifest.version)
    .showHelpAfterError('Run it with --help for what it takes.')
    .exitOverride();
  for (const verb of verbs) program.addCommand(inherit(verb, program));
  return explained(program, {
    notes: `
Each command has a --help of its own. Exit codes: 0 done, 1 failed or not equal, 2 wrong usage or configuration, 130 ended by
Ctrl-C.`,
    examples: [
      { what: 'a simulated store and a mirror of it, to look at', run: 'stock-mirror demo' },
      { what: 'the mirror, configured by .env or the environment', run: 'stock-mirror serve' },
      { what: 'how it is', run: 'stock-mirror status' },
    ],
  });
}

/** A verb made elsewhere has settings of its own until it is given its parent's; so have its own verbs. */
function inherit(verb: Command, parent: Command): Command {
  verb.copyInheritedSettings(parent);
  for (const inner of verb.commands) inherit(inner, verb);
  return verb;
}
