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

export function createCommand(): Command {
  const command = new Command('backup')
    .argument('<file>', 'the copy of the mirror; it appears whole or not at all')
    .option('--force', 'replace FILE')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, options: BackupOptions) => {
      process.exitCode = await backup(file, options, loadLocalConfig());
    });
  return explained(command, {
    notes: `
The copy shows one instant. The inbox is not copied, since a restored mirror reads everything from the store.

To restore, stop the mirror, replace its file with the copy, and start it. A new epoch begins, and every row is suspect until
its product has been read.`,
    examples: [
      {
        what: 'a copy that replaces yesterday’s',
        run: 'stock-mirror backup /backup/mirror.db --force',
      },
    ],
  });
}

async function backup(file: string, options: BackupOptions, config: LocalConfig): Promise<number> {
  const from = config.database.path;
  if (!isThere(from))
    throw new Error(`${from} does not exist: start the mirror first, or correct DATABASE_PATH`);
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
    process.stderr.write('stopped; no copy was made\n');
    return EXIT.interrupted;
  }
  const tookMs = Math.round(performance.now() - startedAtMs);
  if (options.json === true) {
    const { path, bytes, epoch, lastSeq } = made;
    process.stdout.write(`${JSON.stringify({ path, bytes, epoch, last_seq: lastSeq, took_ms: tookMs })}\n`);
  } else {
    const size = `${(made.bytes / 1e6).toFixed(1)} MB`;
    process.stdout.write(
      `${made.path}: ${size} in ${(tookMs / 1_000).toFixed(1)} s, checked; last change ${made.lastSeq}\n`,
    );
  }
  return EXIT.done;
}
