/** `stock-mirror promote`: makes a stopped copy a mirror of its own. */
import { Command } from 'commander';
import { environmentWith, loadLocalConfig } from '../config/config.ts';
import { promoteCopy } from '../event-log/promote.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';

interface PromoteOptions {
  readonly database?: string;
  readonly json?: boolean;
}

export function promoteCommand(): Command {
  const command = new Command('promote')
    .option('--database <path>', 'the copy, instead of DATABASE_PATH')
    .option('--json', 'print the result as JSON')
    .action((options: PromoteOptions) => {
      process.exitCode = promote(options);
    });
  return explained(command, {
    notes: `
For a copy that \`stock-mirror follow\` kept, once its primary is gone for good: see that the primary cannot come back,
stop the copy, promote it, set the settings of the store, leave LOG_URL unset, and let the store send its webhooks here.

A new epoch begins: readers of the change feed start over, and every product is read again, since the primary may have
known more than it could pass on. What was on the primary alone stays there.`,
    examples: [
      { what: 'the copy of this folder', run: 'stock-mirror promote' },
      { what: 'a copy elsewhere', run: 'stock-mirror promote --database /var/lib/stock-mirror/mirror.db' },
    ],
  });
}

function promote({ database, json }: PromoteOptions): number {
  const env = environmentWith(database === undefined ? {} : { DATABASE_PATH: database });
  const { path } = loadLocalConfig({ env }).database;
  const { origin, lastSeq, news } = promoteCopy(path, Date.now());
  const begun = news.find(({ type }) => type === 'new_epoch');
  if (begun?.type !== 'new_epoch') throw new Error('a copy was promoted, and no epoch has begun');
  if (json === true) {
    const answer = {
      origin,
      log_seq: lastSeq,
      epoch: begun.epoch,
      epoch_before: begun.epochBefore,
      last_seq: begun.lastSeq,
    };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return EXIT.done;
  }
  for (const { message, type } of news) if (type !== 'new_epoch') process.stderr.write(`${message}\n`);
  process.stdout.write(
    `${path} is a mirror of its own: it had ${lastSeq} entries of ${origin}\n` +
      'readers of the change feed start over, and every product is read again after the next start\n' +
      'next: leave LOG_URL unset, set the settings of the store, and run `stock-mirror serve`\n',
  );
  return EXIT.done;
}
