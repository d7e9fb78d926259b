/** `stock-mirror prune`: deletes at once what the server deletes in its time. */
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { loadConfig, type Config } from '../config.ts';
import { StoreError } from '../store/errors.ts';
import { pruneDatabase } from '../store/prune.ts';
import { EXIT } from './exit-codes.ts';
import { whole } from './flags.ts';
import { interruptible } from './interrupt.ts';

interface PruneOptions {
  readonly days?: number;
  readonly json?: boolean;
}

const DAY_MS = 24 * 60 * 60_000;

export function pruneCommand(): Command {
  return new Command('prune')
    .description(
      'delete deliveries, changes and runs older than RETENTION_DAYS now; only while no server runs',
    )
    .option('--days <number>', 'older than so many days instead', whole(1, 3_650))
    .option('--json', 'print what was deleted as JSON')
    .addHelpText(
      'after',
      `
A running server does the same by itself, at its start and every hour. Stock, variants and products are never deleted. The
file does not shrink: what was freed is filled again; \`stock-mirror backup\` makes no smaller copy either.`,
    )
    .action(async (options: PruneOptions) => {
      process.exitCode = await prune(options, loadConfig());
    });
}

async function prune(options: PruneOptions, config: Config): Promise<number> {
  const { path } = config.database;
  if (!existsSync(path)) throw new Error(`${path} does not exist: there is nothing to prune yet`);
  const days = options.days ?? config.retentionDays;
  const interrupted = interruptible();
  let pruned;
  try {
    pruned = await pruneDatabase(path, {
      beforeMs: Date.now() - days * DAY_MS,
      onHistoryNews: ({ message }) => void process.stderr.write(`${message}\n`),
      interrupted,
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'in_use') throw error;
    throw new Error(
      `a server runs on ${path}, and it alone may write: it prunes by itself every hour what is older than its ` +
        'RETENTION_DAYS; to prune more, start it with a lower one, or stop it for this command',
      { cause: error },
    );
  }
  const { log, changes, quarantine, runs } = pruned;
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ days, log, changes, quarantine, runs, complete: !interrupted.aborted })}\n`
      : `deleted what is older than ${days} days: ${log} log entries, ${changes} changes, ${quarantine} quarantined, ${runs} runs\n`,
  );
  return interrupted.aborted ? EXIT.interrupted : EXIT.done;
}
