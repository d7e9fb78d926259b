/**
 * `stock-mirror prune`: deletes at once what a running mirror deletes in time; in that mirror, or here when none
 * runs.
 */
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { StoreError } from '../sqlite/errors.ts';
import { pruneDatabase } from '../mirror/prune.ts';
import type { PrunedPortion } from '../mirror/retention.ts';
import { isThere } from '../sqlite/is-there.ts';
import type { PruneAnswer } from './shared/answers.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { whole } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import { opsClient } from './shared/ops-client.ts';
import { pruneInServer } from './prune/in-server.ts';

interface PruneOptions {
  readonly days?: number;
  readonly json?: boolean;
}

const DAY_MS = 24 * 60 * 60_000;

export function pruneCommand(): Command {
  const command = new Command('prune')
    .option('--days <number>', 'delete what is older than this number of days instead', whole(1, 3_650))
    .option('--json', 'print what was deleted as JSON')
    .action(async (options: PruneOptions) => {
      process.exitCode = await prune(options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
A running mirror does the same by itself, at its start and every hour. It deletes a little at a time, so that no webhook
waits: at most 5,000 deliveries a second. Ctrl-C stops it; what was deleted stays deleted. Stock, variants and products are
never deleted. A consumer of the change feed that has not read the deleted changes must start over. The file does not
shrink: the freed space is used again; \`stock-mirror backup\` makes no smaller copy either.`,
    examples: [
      { what: 'what is older than RETENTION_DAYS', run: 'stock-mirror prune' },
      { what: 'all but the last week', run: 'stock-mirror prune --days 7' },
    ],
  });
}

async function prune(options: PruneOptions, config: LocalConfig): Promise<number> {
  const interrupted = interruptible();
  const pruned =
    (await pruneInServer(opsClient(config.ops), options.days, interrupted)) ??
    (await pruneHere(options.days ?? config.retentionDays, config, interrupted));
  if (options.json === true) {
    const answer: PruneAnswer = pruned;
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } else {
    const { days, log, changes, quarantine, runs, complete } = pruned;
    const rows = `${log} log entries, ${changes} changes, ${quarantine} dead letters, ${runs} runs`;
    process.stdout.write(
      complete
        ? `deleted what is older than ${days} days: ${rows}\n`
        : `stopped; deleted so far, of what is older than ${days} days: ${rows}\n`,
    );
  }
  return pruned.complete ? EXIT.done : EXIT.interrupted;
}

async function pruneHere(
  days: number,
  config: LocalConfig,
  interrupted: AbortSignal,
): Promise<PrunedPortion> {
  const { path } = config.database;
  if (!isThere(path)) throw new Error(`${path} does not exist: there is nothing to prune yet`);
  try {
    const pruned = await pruneDatabase(path, {
      beforeMs: Date.now() - days * DAY_MS,
      onNews: ({ message }) => void process.stderr.write(`${message}\n`),
      interrupted,
    });
    return { days, ...pruned, complete: !interrupted.aborted };
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'in_use') throw error;
    throw new Error(
      `another stock-mirror uses ${path}, and no mirror listens at ${config.ops.host}:${config.ops.port}: ` +
        'if it is a running mirror, set OPS_HOST and OPS_PORT to its values; if it is a command, wait until it ends',
      { cause: error },
    );
  }
}
