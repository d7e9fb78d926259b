/** The commands. Only the one that is asked for is loaded: all together take longer to load than most take to run. */
import { Command } from 'commander';

const VERBS: Readonly<Record<string, readonly [summary: string, load: () => Promise<Command>]>> = {
  serve: [
    'run the mirror in the foreground until SIGTERM (exit code 0) or Ctrl-C (130)',
    async () => (await import('./serve.ts')).serveCommand(),
  ],
  resync: [
    'read the whole catalogue, or single products, until the mirror equals the store',
    async () => (await import('./resync.ts')).resyncCommand(),
  ],
  verify: [
    'read the store and compare, changing nothing; exits 1 when the mirror differs, and lists where',
    async () => (await import('./verify.ts')).verifyCommand(),
  ],
  status: [
    'show the state of the mirror; exits 1 unless it is live',
    async () => (await import('./status.ts')).statusCommand(),
  ],
  doctor: [
    'check configuration, database, disk, running mirror, clock, credentials and catalogue; exits 1 if any check fails',
    async () => (await import('./doctor.ts')).doctorCommand(),
  ],
  export: [
    'write the stock levels, or the change feed, as CSV or as JSON lines',
    async () => (await import('./export.ts')).exportCommand(),
  ],
  backup: [
    'copy the mirror to FILE while it runs: checked, and on disk',
    async () => (await import('./backup.ts')).backupCommand(),
  ],
  send: [
    'post a correctly signed test webhook to the mirror, and show the answer and the time it took',
    async () => (await import('./send.ts')).sendCommand(),
  ],
  sandbox: [
    'run a simulated store, with a web page and fault injection, for development',
    async () => (await import('./sandbox.ts')).sandboxCommand(),
  ],
  demo: [
    'run a simulated store and a real mirror with faults in between, then compare all their values',
    async () => (await import('./demo.ts')).demoCommand(),
  ],
};

/** A command for each verb: whole for the one that the arguments name, of the others the summary for `--help`. */
export async function commandsFor(args: readonly string[]): Promise<Command[]> {
  const [first, second] = args.filter((argument) => !argument.startsWith('-'));
  const named = first === 'help' ? second : first;
  return Promise.all(
    Object.entries(VERBS).map(async ([name, [summary, load]]) =>
      (name === named ? await load() : new Command(name)).description(summary),
    ),
  );
}
