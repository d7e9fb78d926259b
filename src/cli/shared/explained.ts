/** What is said of a command besides its flags: once, for `--help` and for the man page. */
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

const explanations = new WeakMap<Command, Explanation>();

export function explained(command: Command, explanation: Explanation): Command {
  explanations.set(command, explanation);
  return command.addHelpText('after', () => describe(command, explanation));
}

/** @returns null for a command of which nothing more is said. */
export function explanationOf(command: Command): Explanation | null {
  return explanations.get(command) ?? null;
}

export function paragraphsOf({ notes = '' }: Explanation): string[] {
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
