import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { explained } from './shared/explained.ts';

/** Usage errors, `--help` and `--version` end `parseAsync` with a `CommanderError`, not the process. */
export function createProgram(verbs: readonly Command[]): Command {
  const program = new Command('stock-mirror')
    .description(manifest.description)
    .version(manifest.version)
    .showHelpAfterError('Use --help to list commands and options.')
    .exitOverride();
  // `addCommand` does not pass settings on.
  for (const verb of verbs) program.addCommand(verb.copyInheritedSettings(program));
  return explained(program, {
    notes: `
stock-mirror COMMAND --help describes one command. Exit codes: 0 done, 1 failed or different, 2 wrong usage or configuration,
130 ended by Ctrl-C.`,
    examples: [
      { what: 'a simulated store and a mirror of it', run: 'stock-mirror demo' },
      { what: 'the mirror, configured by .env or the environment', run: 'stock-mirror serve' },
      { what: 'the state of the mirror', run: 'stock-mirror status' },
    ],
  });
}
