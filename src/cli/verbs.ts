/**
 * What the command can do. Only the verb that is asked for is loaded: each of them is a program of its own, and all
 * together take longer to load than most of them take to run.
 */
import { Command } from 'commander';

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

const VERBS: readonly Verb[] = [
  {
    name: 'serve',
    summary: 'run the mirror in the foreground until SIGTERM (exit code 0) or Ctrl-C (130)',
    load: async () => (await import('./serve.ts')).serveCommand(),
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
    summary: 'copy the mirror to FILE while it runs: checked, and on disk',
    load: async () => (await import('./backup.ts')).backupCommand(),
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
];

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
