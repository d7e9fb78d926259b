/**
 * What the command can do. Only the verb that is asked for is loaded: each of them is a program of its own, and all
 * together take longer to load than most of them take to run.
 */
import { Command } from 'commander';
import { createProgram } from './program.ts';

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

const VERBS: readonly Verb[] = [
  {
    name: 'init',
    summary: 'ask for the settings, write .env, and try credentials and a signed webhook',
    load: async () => (await import('./init.ts')).initCommand(),
  },
  {
    name: 'serve',
    summary: 'run the mirror in the foreground until SIGTERM (exit code 0) or Ctrl-C (130)',
    load: async () => (await import('./serve.ts')).serveCommand(),
  },
  {
    name: 'follow',
    summary: 'keep a read-only copy of the mirror that another machine serves, equal row by row',
    load: async () => (await import('./follow.ts')).followCommand(),
  },
  {
    name: 'promote',
    summary: 'make a stopped copy a mirror of its own, when its primary is gone for good',
    load: async () => (await import('./promote.ts')).promoteCommand(),
  },
  {
    name: 'resync',
    summary: 'read the whole catalogue, or single products, until the mirror equals the store',
    load: async () => (await import('./resync.ts')).resyncCommand(),
  },
  {
    name: 'verify',
    summary: 'read the store and compare, changing nothing; exits 1 when the mirror differs, and lists where',
    load: async () => (await import('./verify.ts')).verifyCommand(),
  },
  {
    name: 'status',
    summary: 'show the state of the mirror; exits 1 unless it is live',
    load: async () => (await import('./status.ts')).statusCommand(),
  },
  {
    name: 'stock',
    summary: 'show what the mirror holds of a SKU, by warehouse, certain or suspect, and why',
    load: async () => (await import('./stock.ts')).stockCommand(),
  },
  {
    name: 'changes',
    summary:
      'print the change feed: the last changes, or those after a number, and go on with each as it comes',
    load: async () => (await import('./changes.ts')).changesCommand(),
  },
  {
    name: 'doctor',
    summary:
      'check configuration, database, disk, running mirror, clock, credentials and catalogue; exits 1 if any check fails',
    load: async () => (await import('./doctor.ts')).doctorCommand(),
  },
  {
    name: 'export',
    summary: 'write the stock levels, or the change feed, as CSV or as JSON lines',
    load: async () => (await import('./export.ts')).exportCommand(),
  },
  {
    name: 'backup',
    summary: 'copy mirror and event log to FILE and beside it while the mirror runs: checked, and on disk',
    load: async () => (await import('./backup.ts')).backupCommand(),
  },
  {
    name: 'prune',
    summary:
      'delete deliveries, changes and runs older than RETENTION_DAYS now; while a mirror runs, the mirror does it',
    load: async () => (await import('./prune.ts')).pruneCommand(),
  },
  {
    name: 'rebuild',
    summary:
      'make the mirror anew from its event log, or with --check only compare; exits 1 when they differ',
    load: async () => (await import('./rebuild.ts')).rebuildCommand(),
  },
  {
    name: 'send',
    summary: 'post a correctly signed test webhook to the mirror, and show the answer and the time it took',
    load: async () => (await import('./send.ts')).sendCommand(),
  },
  {
    name: 'sandbox',
    summary: 'run a simulated store, with a web page and fault injection, for development',
    load: async () => (await import('./sandbox.ts')).sandboxCommand(),
  },
  {
    name: 'demo',
    summary: 'run a simulated store and a real mirror with faults in between, then compare all their figures',
    load: async () => (await import('./demo.ts')).demoCommand(),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands and flags in bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionCommand(wholeProgram),
  },
];

/** The program with all that each of its verbs takes. */
export async function wholeProgram(): Promise<Command> {
  const commands = VERBS.map(async ({ summary, load }) => (await load()).description(summary));
  return createProgram(await Promise.all(commands));
}

/** A command for each verb: whole for the one that the arguments name, of the others what `--help` says of them. */
export async function commandsFor(args: readonly string[]): Promise<Command[]> {
  const [first, second] = args.filter((argument) => !argument.startsWith('-'));
  const named = first === 'help' ? second : first;
  return Promise.all(
    VERBS.map(async ({ name, summary, load }) => {
      const command = name === named ? await load() : new Command(name);
      return command.description(summary);
    }),
  );
}
