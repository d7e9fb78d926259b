import type { Command } from 'commander';

interface Explanation {
  /** Paragraphs, separated by empty lines; wrapped to the terminal. */
  readonly notes?: string;
  readonly examples: readonly { readonly run: string; readonly what: string }[];
}

export function explained(command: Command, { notes, examples }: Explanation): Command {
  const typed = examples.map(({ what, run }) => `  # ${what}\n  ${run}`);
  return command.addHelpText('after', () => {
    const width = process.stdout.isTTY ? Math.min(process.stdout.columns, 100) : 80;
    const paragraphs = (notes?.trim().split('\n\n') ?? []).map((paragraph) =>
      command.createHelp().boxWrap(paragraph.replaceAll('\n', ' '), width),
    );
    return ['', ...paragraphs, `Examples:\n${typed.join('\n')}`].join('\n\n').slice(1);
  });
}
