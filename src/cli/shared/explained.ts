/** Notes and examples that follow a command's flags in `--help`. */
import type { Command } from 'commander';

interface Example {
  /** As it is typed; parts of a shell, such as a pipe, may follow. */
  readonly run: string;
  readonly what: string;
}

interface Explanation {
  /** Paragraphs, with an empty line between two; within one, line breaks mean nothing. */
  readonly notes?: string;
  readonly examples: readonly Example[];
}

export function explained(command: Command, explanation: Explanation): Command {
  return command.addHelpText('after', () => describe(command, explanation));
}

function paragraphsOf({ notes = '' }: Explanation): string[] {
  const paragraphs = notes.split(/\n\s*\n/).map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim());
  return paragraphs.filter((paragraph) => paragraph !== '');
}

function describe(command: Command, explanation: Explanation): string {
  const help = command.createHelp();
  const { isTTY, columns } = process.stdout;
  const width = isTTY ? Math.min(columns, 100) : 80;
  const paragraphs = paragraphsOf(explanation).map((paragraph) => help.boxWrap(paragraph, width));
  const examples = explanation.examples.map(({ what, run }) => `  # ${what}\n  ${run}`);
  return ['', ...paragraphs, `Examples:\n${examples.join('\n')}`].join('\n\n').slice(1);
}
