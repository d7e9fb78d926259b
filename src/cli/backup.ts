/** `stock-mirror backup FILE`: an online copy of the mirror, while it runs or not. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { backupDatabase } from '../mirror/file/backup.ts';
import { isThere } from '../sqlite/is-there.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { interruptible } from './shared/interrupt.ts';
import { createProgress } from './shared/progress.ts';

interface BackupOptions {
  readonly force?: boolean;
  readonly json?: boolean;
}

export function backupCommand(): Command {
  const command = new Command('backup')
    .argument('<file>', 'the copy of the mirror; it appears whole or not at all')
    .option('--force', 'replace FILE')
    .option('--json', 'print what was copied as JSON')
    .action(async (file: string, options: BackupOptions) => {
      process.exitCode = await backup(file, options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The copy is of one instant. The inbox is not copied: its deliveries are applied, and the store can be read again.

To restore, stop the mirror, put the copy in the place of its file, and start it: a new epoch begins, every row is suspect
until it is read, and every product is read.`,
    examples: [
      {
        what: 'a copy that replaces the one of yesterday',
        run: 'stock-mirror backup /backup/mirror.db --force',
      },
    ],
  });
}

async function backup(file: string, options: BackupOptions, config: LocalConfig): Promise<number> {
  const from = config.database.path;
  if (!isThere(from)) throw new Error(`${from} does not exist: there is nothing to copy yet`);
  const progress = createProgress(process.stderr, { unit: 'pages', atFirst: 'copying' });
  const startedAtMs = performance.now();
  let made;
  try {
    made = await backupDatabase(from, resolve(file), {
      force: options.force === true,
      onProgress: (done, total) => progress.show({ done, total }),
      interrupted: interruptible(),
    });
  } finally {
    progress.end();
  }
  if (made === null) {
    process.stderr.write('stopped; there is no copy\n');
    return EXIT.interrupted;
  }
  const tookMs = Math.round(performance.now() - startedAtMs);
  if (options.json === true) {
    const { path, bytes, epoch, lastSeq } = made;
    process.stdout.write(`${JSON.stringify({ path, bytes, epoch, last_seq: lastSeq, took_ms: tookMs })}\n`);
  } else {
    const size = `${(made.bytes / 1e6).toFixed(1)} MB`;
    process.stdout.write(
      `${made.path}: ${size} in ${(tookMs / 1_000).toFixed(1)} s, checked; its change feed ends at ${made.lastSeq}\n`,
    );
  }
  return EXIT.done;
}
