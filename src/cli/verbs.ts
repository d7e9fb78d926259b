/** Only the named command is loaded, since loading all takes longer than most take to run. */
import { Command } from 'commander';

type Load = () => Promise<{ readonly createCommand: () => Command }>;

const VERBS: Readonly<Record<string, readonly [summary: string, load: Load]>> = {
  serve: [
    'run the mirror in the foreground until SIGTERM (exit code 0) or Ctrl-C (130)',
    () => import('./serve.ts'),
  ],
  resync: [
    'ask the running mirror to read the whole catalogue or some products again, and show the progress',
    () => import('./resync.ts'),
  ],
  verify: [
    'read the store and compare, changing nothing; exits 1 when the mirror differs, and lists where',
    () => import('./verify.ts'),
  ],
  status: ['show the state of the mirror; exits 1 unless it is live', () => import('./status.ts')],
  doctor: [
    'check configuration, database, disk, running mirror, clock, credentials and catalogue; exits 1 if any check fails',
    () => import('./doctor.ts'),
  ],
  export: [
    'write what can be sold, or the change feed, as CSV or as JSON lines',
    () => import('./export.ts'),
  ],
  backup: [
    'copy the mirror to FILE while it runs, and check the copy; or restore a copy (--restore)',
    () => import('./backup.ts'),
  ],
  send: [
    'post a correctly signed test webhook to the mirror, and show the answer and the time it took',
    () => import('./send.ts'),
  ],
  sandbox: ['run a simulated store with fault injection, for development', () => import('./sandbox.ts')],
  demo: [
    'run a simulated store and a real mirror over a bad network, then compare all values',
    () => import('./demo.ts'),
  ],
};

/** Other commands than the named one have only their summary, for `--help`. */
export async function commandsFor(args: readonly string[]): Promise<Command[]> {
  const [first, second] = args.filter((argument) => !argument.startsWith('-'));
  const named = first === 'help' ? second : first;
  return Promise.all(
    Object.entries(VERBS).map(async ([name, [summary, load]]) =>
      (name === named ? (await load()).createCommand() : new Command(name)).description(summary),
    ),
  );
}
